"""The shape of the project: which folder may import which, and how the package is mapped."""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.modules import PACKAGES, all_modules

ROOT = Path(__file__).resolve().parent.parent
ORDER = ["vision", "features", "codebook", "classifiers", "apps"]  # imports point to the left


def imported_folder(module: str) -> str | None:
    """Return the folder that an absolute module name lives in; None if it is not ours."""
    parts = module.split(".")
    if parts[0] != "visualwords":
        return None
    return parts[1] if len(parts) > 1 and parts[1] in ORDER else "vision"


@cache
def imports_of(path: Path) -> list[str]:
    names = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import; write the absolute name"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


@pytest.mark.parametrize("folder", ORDER)
def test_a_folder_imports_only_folders_to_its_left(folder):
    allowed = ORDER[: ORDER.index(folder) + 1]
    for path in (ROOT / folder).rglob("*.py"):
        if path == ROOT / "vision" / "__init__.py":
            continue  # it names the headline classes for type checkers and loads them lazily
        for name in imports_of(path):
            assert imported_folder(name) in (None, *allowed), f"{path} imports {name}"


def test_only_the_map_over_workers_uses_joblibs_and_only_the_cluster_uses_dask():
    allowed = {
        "joblib.Parallel": "vision/parallel.py",
    }
    for path in (path for folder in ORDER for path in (ROOT / folder).rglob("*.py")):
        place = path.relative_to(ROOT).as_posix()
        for name in imports_of(path):
            for start, only in allowed.items():
                assert not name.startswith(start) or place == only, f"{place} imports {name}"
            is_dask = name.split(".")[0] in ("dask", "distributed")
            assert not is_dask or place.startswith("apps/cluster/"), f"{place} imports {name}"


# Private names of other packages that we use: a file of tests, and its test of doing without them.
PRIVATE = {
    "numba.core.caching": (
        "vision/test_compiled.py",
        "test_with_another_cache_of_numba_loops_are_compiled_in_memory",
    ),
    "numba.core.event": (
        "apps/command_line/test_terminal.py",
        "test_without_the_events_of_numba_nothing_is_said_of_compiling",
    ),
}
EXTENDING = ("numba.core.types", "numba.core.cgutils")  # documented for intrinsics


def test_private_names_of_other_packages_are_few_and_have_a_tested_fallback():
    for path in (path for folder in ORDER for path in (ROOT / folder).rglob("*.py")):
        for name in imports_of(path):
            owner, *parts = name.split(".")
            is_private = any(part.startswith("_") for part in parts)
            is_private |= name.startswith(("numba.core", "uvicorn.protocols"))
            if owner in ("visualwords", "__future__") or name.startswith(EXTENDING):
                continue
            assert not is_private or name.startswith(tuple(PRIVATE)), f"{path} imports {name}"
    for place, test in PRIVATE.values():
        assert f"def {test}(" in (ROOT / "tests" / place).read_text(encoding="utf-8")


def test_no_folder_is_imported_under_its_bare_name():
    code = (
        "import sys, importlib\n"
        f"for name in {all_modules()!r}:\n"
        "    importlib.import_module(name)\n"
        f"print(*sorted(set({ORDER!r}) & set(sys.modules)))\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/"
    )
    assert result.stdout.split() == []


def test_every_package_is_listed_for_the_wheel():
    folders = {path.parent for folder in ORDER for path in (ROOT / folder).rglob("__init__.py")}
    names = {
        ".".join(["visualwords", *path.relative_to(ROOT).parts]).replace(".vision", "")
        for path in folders
    }
    assert names == set(PACKAGES)


COMMANDS = {"classify_images", "detect_pedestrians"}  # one module for each verb


def test_apps_has_no_loose_modules():
    assert [path.name for path in (ROOT / "apps").glob("*.py")] == ["__init__.py"]


def test_no_two_modules_have_the_same_name():
    """Only __init__, __main__, main and options may repeat, and the verbs of the commands."""
    found: dict[str, Path] = {}
    for folder in ORDER:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if path.stem in ("__init__", "__main__", "main", "options"):
                continue
            if path.parent.name not in COMMANDS:
                assert path.stem not in found, f"{path} and {found[path.stem]}"
                found[path.stem] = path
    for path in found.values():
        folder = ROOT / path.relative_to(ROOT).parts[0]
        rooms = {p.parent.name: p.parent for p in folder.rglob("__init__.py")}
        room = rooms.get(path.stem, path.parent)
        assert room == path.parent, f"{path} has the name of the room {room}"
