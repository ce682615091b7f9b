"""Benchmarks store figures with what they come from."""

import json
import sys
from types import SimpleNamespace

import pytest

from benchmarks import results


@pytest.fixture
def as_command(monkeypatch):
    """Give a function that makes this process look like a benchmark's."""

    def become(module, *arguments):
        spec = None if module is None else SimpleNamespace(name=module)
        monkeypatch.setitem(sys.modules, "__main__", SimpleNamespace(__spec__=spec))
        monkeypatch.setattr(sys, "argv", ["script.py", *arguments])

    return become


def test_figures_are_stored_with_command_state_date_and_machine(tmp_path, as_command):
    as_command("benchmarks.accuracy.detector_scenes", "ours", "--store")
    path = results.store({"average precision": 0.87}, tmp_path / "new")
    assert path.name == "accuracy.detector_scenes-ours.json"
    stored = json.loads(path.read_text(encoding="utf-8"))
    assert stored["command"] == "python -m benchmarks.accuracy.detector_scenes ours"
    assert stored["figures"] == {"average precision": 0.87}
    assert all(stored[key] for key in ("state", "date", "machine", "versions"))


def test_other_arguments_have_another_file(tmp_path, as_command):
    names = set()
    for arguments in ((), ("--recipe", "scene"), ("--recipe", "words")):
        as_command("benchmarks.accuracy.image_classifier", "scene15", *arguments)
        names.add(results.store({"accuracy": 0.9}, tmp_path).name)
    assert len(names) == 3


def test_a_script_that_is_not_run_as_a_module_is_told_how(tmp_path, as_command):
    as_command(None)
    with pytest.raises(RuntimeError, match="python -m benchmarks"):
        results.store({}, tmp_path)
