"""Options that need reading."""

import click
import pytest

from visualwords.apps.command_line.options import DURATION, SIZE, Number


@pytest.mark.parametrize(
    ("written", "seconds"), [("90", 90), ("90s", 90), ("1.5m", 90), ("2h", 7200), ("0", 0)]
)
def test_times_are_read_as_people_write_them(written, seconds):
    assert DURATION.convert(written, None, None) == seconds


@pytest.mark.parametrize("written", ["", "s", "-1s", "nan", "inf", "1d", "soon", "1e999h"])
def test_what_is_no_time_is_refused(written):
    with pytest.raises(click.BadParameter, match="is not a duration; write it like 90s"):
        DURATION.convert(written, None, None)


@pytest.mark.parametrize(
    ("written", "size"), [("2000", 2000), ("1.5 kB", 1500), ("2GiB", 2 << 30), ("0", 0)]
)
def test_sizes_are_read_as_people_write_them(written, size):
    assert SIZE.convert(written, None, None) == size


@pytest.mark.parametrize("written", ["", "MB", "-1", "9" * 400, "1 T\nB", "1 TB\n", "1e9", "inf"])
def test_what_is_no_size_is_refused(written):
    with pytest.raises(click.BadParameter, match="is not a memory size; write it like 500MB"):
        SIZE.convert(written, None, None)


@pytest.mark.parametrize("written", ["nan", "inf", "1e999", "-inf", "0"])
def test_what_is_no_finite_number_of_a_range_is_refused(written):
    assert Number(min=1).convert("2.5", None, None) == 2.5
    with pytest.raises(click.BadParameter, match=r"not a finite number|not in the range"):
        Number(min=1).convert(written, None, None)
