"""Finding extractors by name, also those of other installed packages."""

import sys

import pytest

from visualwords import Recipe, features
from visualwords.features.registry import find_extractor, list_extractors

MODULE = """
from visualwords.features.extractor import Extractor, as_rgb

class MeanColor(Extractor):
    def describe(self, image):
        return as_rgb(image).mean(axis=(0, 1))

not_a_class = 3
"""


@pytest.fixture
def announce(tmp_path, monkeypatch):
    """Give ``announce(distribution, line)``: install an entry point beside a module."""
    (tmp_path / "descriptors_of_a_user.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)

    def install(distribution, line):
        folder = tmp_path / f"{distribution}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\n")
        (folder / "entry_points.txt").write_text(f"[visualwords.features]\n{line}")

    yield install
    sys.modules.pop("descriptors_of_a_user", None)


def test_ours_are_found_by_their_class_name_and_can_not_be_replaced(announce):
    announce("colors", "HOG = descriptors_of_a_user:MeanColor")
    assert list_extractors() == [*features.EXTRACTORS]
    for name in features.EXTRACTORS:
        assert find_extractor(name) is getattr(features, name)


def test_one_line_registers_an_extractor(announce, monkeypatch, photo):
    """Its file is descriptors_of_a_user.py; recipes and flags then take its name."""
    monkeypatch.setitem(features.EXTRACTORS, "MeanColor", "descriptors_of_a_user")
    assert "MeanColor" in list_extractors()
    recipe = Recipe.from_toml('name = "mine"\n[[channels]]\nextractor = "MeanColor"')
    assert recipe.channels[0].build().describe(photo).shape == (3,)


def test_an_installed_package_can_add_an_extractor(announce, photo):
    announce("colors", "MeanColor = descriptors_of_a_user:MeanColor")
    assert list_extractors()[-1] == "MeanColor"
    assert find_extractor("MeanColor")().fit_transform([photo]).shape == (1, 3)
    announce("others", "MeanColor = descriptors_of_another:MeanColor")
    with pytest.raises(ValueError, match="two packages"):
        find_extractor("MeanColor")


@pytest.mark.parametrize(
    ("line", "name", "reason"),
    [
        ("", "Nonsense", "no extractor is named 'Nonsense'.*ColorHistogram"),
        ("", "descriptors_of_a_user:MeanColor", "no extractor is named"),
        ("Broken = missing_module:X", "Broken", "'Broken'.*missing_module:X"),
        ("Broken = descriptors_of_a_user:none", "Broken", "'Broken'.*descriptors_of_a_user:none"),
        ("Three = descriptors_of_a_user:not_a_class", "Three", "is not a subclass"),
    ],
)
def test_what_is_no_extractor_is_refused_by_its_name(announce, line, name, reason):
    announce("colors", line)
    with pytest.raises(ValueError, match=reason):
        find_extractor(name)
