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
    """Give ``announce(distribution, lines)``: install entry points beside a module."""
    (tmp_path / "descriptors_of_a_user.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)

    def install(distribution, *lines):
        folder = tmp_path / f"{distribution}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\n")
        (folder / "entry_points.txt").write_text("\n".join(["[visualwords.features]", *lines]))

    yield install
    sys.modules.pop("descriptors_of_a_user", None)


def test_our_extractors_are_found_by_their_class_name():
    for name in features.EXTRACTORS:
        assert find_extractor(name) is getattr(features, name)
        assert name in list_extractors()


def test_one_line_registers_an_extractor(announce, monkeypatch, photo):
    """Its file is descriptors_of_a_user.py; recipes and flags then take its name."""
    monkeypatch.setitem(features.EXTRACTORS, "MeanColor", "descriptors_of_a_user")
    assert "MeanColor" in list_extractors()
    assert find_extractor("MeanColor")().fit_transform([photo]).shape == (1, 3)
    recipe = Recipe.from_toml('name = "mine"\n[[channels]]\nextractor = "MeanColor"')
    assert recipe.channels[0].build().describe(photo).shape == (3,)


def test_an_installed_package_can_add_an_extractor(announce, photo):
    announce("colors", "MeanColor = descriptors_of_a_user:MeanColor")
    assert list_extractors()[-1] == "MeanColor"
    assert find_extractor("MeanColor")().fit_transform([photo]).shape == (1, 3)


def test_ours_can_not_be_replaced(announce):
    announce("colors", "HOG = descriptors_of_a_user:MeanColor")
    assert find_extractor("HOG") is features.HOG
    assert list_extractors() == [*features.EXTRACTORS]


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"'Nonsense'.*ColorHistogram"):
        find_extractor("Nonsense")
    with pytest.raises(ValueError, match="no extractor is named"):
        find_extractor("descriptors_of_a_user:MeanColor")


def test_two_packages_with_one_name_are_reported(announce):
    announce("first", "MeanColor = descriptors_of_a_user:MeanColor")
    announce("second", "MeanColor = descriptors_of_another:MeanColor")
    with pytest.raises(ValueError, match="two packages"):
        find_extractor("MeanColor")


@pytest.mark.parametrize("value", ["missing_module:X", "descriptors_of_a_user:missing"])
def test_a_broken_entry_names_itself(announce, value):
    announce("colors", f"Broken = {value}")
    with pytest.raises(ValueError, match=f"'Broken'.*{value}"):
        find_extractor("Broken")


def test_only_extractors_are_accepted(announce):
    announce("colors", "Three = descriptors_of_a_user:not_a_class")
    with pytest.raises(ValueError, match="is not a subclass"):
        find_extractor("Three")
