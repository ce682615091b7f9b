"""Benchmarks are run by hand and take long; what they import from us must be there all the same."""

import ast
import importlib
from importlib.util import find_spec

import pytest

from tests.conftest import ROOT

OURS = ("visualwords", "tests")
FILES = sorted((ROOT / "benchmarks").glob("*.py"))


def names_from_us(path):
    """Yield the module and the name of every import from the package or its tests."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found = [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found = [(node.module, alias.name) for alias in node.names]
        else:
            continue
        yield from ((module, name) for module, name in found if module.split(".")[0] in OURS)


def is_there(module, name):
    if name is None:
        return find_spec(module) is not None
    return hasattr(importlib.import_module(module), name) or bool(find_spec(f"{module}.{name}"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_a_benchmark_imports_from_us_is_there(path):
    assert [names for names in names_from_us(path) if not is_there(*names)] == []
