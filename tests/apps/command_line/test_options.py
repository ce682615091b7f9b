"""Options that need reading."""

import click
import pytest

from visualwords.apps.classify_images.options import Seconds


@pytest.mark.parametrize(
    ("written", "seconds"), [("90", 90), ("90s", 90), ("1.5m", 90), ("2h", 7200), ("0", 0)]
)
def test_times_are_read_as_people_write_them(written, seconds):
    assert Seconds().convert(written, None, None) == seconds


@pytest.mark.parametrize("written", ["", "s", "-1s", "nan", "inf", "1d", "soon", "1e999h"])
def test_what_is_no_time_is_refused(written):
    with pytest.raises(click.BadParameter, match="is not a duration; write it like 90s"):
        Seconds().convert(written, None, None)
