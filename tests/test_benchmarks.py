"""Benchmarks are run by hand and take long; here only the names they use are checked."""

import ast
import importlib
import re
from importlib.util import find_spec

import pytest

from tests.conftest import ROOT

OURS = ("visualwords", "tests", "benchmarks")
FOLDER = ROOT / "benchmarks"
FILES = sorted(path for path in FOLDER.rglob("*.py") if path.name != "__init__.py")
SCRIPTS = {path for path in FILES if path.parent.name not in ("benchmarks", "papers")}
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def names_from_us(path):
    """Yield the module and the name of every import from the package, its tests or benchmarks."""
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
    if module.startswith("benchmarks"):  # parsed: importing them would set the number of threads
        return name in names_defined_in(module) or bool(find_spec(f"{module}.{name}"))
    return hasattr(importlib.import_module(module), name) or bool(find_spec(f"{module}.{name}"))


def names_defined_in(module):
    """The names that a module of the benchmarks defines at its top level."""
    with open(find_spec(module).origin, encoding="utf-8") as file:
        nodes = ast.parse(file.read()).body
    defined = {node.name for node in nodes if hasattr(node, "name")}
    for node in nodes:
        if isinstance(node, ast.Assign):
            defined |= {name.id for name in node.targets if isinstance(name, ast.Name)}
    return defined


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_a_benchmark_imports_from_us_is_there(path):
    assert [names for names in names_from_us(path) if not is_there(*names)] == []


def test_the_index_lists_every_benchmark():
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    dotted = {f"{path.parent.name}.{path.stem}" for path in SCRIPTS if "generated" not in path.stem}
    listed = set(re.findall(r"(?<!/)\b(?:speed|accuracy|figures|peers)\.\w+", text))
    assert listed == dotted


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_in_the_documentation_name_existing_benchmarks(page):
    named = re.findall(r"-m\s+(benchmarks\.[\w.]*\w)", page.read_text(encoding="utf-8"))
    assert [name for name in named if find_spec(name) is None] == []
