"""The shape of the project: which folder may import which, and how the package is mapped."""

import ast
from functools import cache
from pathlib import Path

from tests.modules import PACKAGES

ROOT = Path(__file__).resolve().parent.parent
ORDER = ["vision", "features", "codebook", "classifiers", "apps"]  # imports point to the left
FILES = [path for folder in ORDER for path in sorted((ROOT / folder).rglob("*.py"))]
# Private names of other packages that we use: a file of tests, and its test of doing without them.
PRIVATE = {
    "numba.core.caching": (
        "vision/test_compiled.py",
        "test_with_another_cache_of_numba_loops_are_compiled_in_memory",
    ),
    "numba.core.runtime": (
        "vision/test_compiled.py",
        "test_without_the_short_way_to_the_cache_numbas_own_is_taken",
    ),
    "numba.core.event": (
        "apps/command_line/test_terminal.py",
        "test_without_the_events_of_numba_nothing_is_said_of_compiling",
    ),
}
EXTENDING = ("numba.core.types", "numba.core.cgutils")  # documented for intrinsics
REPEATED = ("__init__", "__main__", "main", "options")
COMMANDS = {"classify_images", "detect_pedestrians"}  # one module for each verb


def place_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def imports() -> list[tuple[str, str]]:
    """Every file with each name that it imports."""
    found = []
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found += [(place_of(path), alias.name) for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path}: relative import; write the absolute name"
                found += [(place_of(path), f"{node.module}.{alias.name}") for alias in node.names]
    return found


def test_a_folder_imports_only_folders_to_its_left():
    for place, name in imports():
        if not name.startswith("visualwords.") or place == "vision/__init__.py":
            continue  # that file names the headline classes and loads them lazily
        folder = name.split(".")[1]
        folder = folder if folder in ORDER else "vision"
        assert ORDER.index(folder) <= ORDER.index(place.split("/")[0]), f"{place} imports {name}"


def test_only_the_map_over_workers_uses_joblibs_and_only_the_cluster_uses_dask():
    for place, name in imports():
        is_parallel = name.startswith("joblib.Parallel")
        assert not is_parallel or place == "vision/parallel.py", f"{place} imports {name}"
        is_dask = name.split(".")[0] in ("dask", "distributed")
        assert not is_dask or place.startswith("apps/cluster/"), f"{place} imports {name}"


def test_private_names_of_other_packages_are_few_and_have_a_tested_fallback():
    for place, name in imports():
        owner, *parts = name.split(".")
        is_private = any(part.startswith("_") for part in parts)
        is_private |= name.startswith(("numba.core", "uvicorn.protocols"))
        if owner in ("visualwords", "__future__") or name.startswith(EXTENDING):
            continue
        assert not is_private or name.startswith(tuple(PRIVATE)), f"{place} imports {name}"
    for place, test in PRIVATE.values():
        assert f"def {test}(" in (ROOT / "tests" / place).read_text(encoding="utf-8")


def test_every_package_is_listed_for_the_wheel():
    folders = [place_of(path.parent).split("/") for path in FILES if path.stem == "__init__"]
    names = {".".join(["visualwords", *folder]).replace(".vision", "") for folder in folders}
    assert names == set(PACKAGES)


def test_no_two_modules_have_the_same_name_and_none_is_loose_in_apps():
    assert [path.name for path in FILES if path.parent == ROOT / "apps"] == ["__init__.py"]
    found: dict[str, Path] = {}
    for path in FILES:
        if path.stem not in REPEATED and path.parent.name not in COMMANDS:
            assert path.stem not in found, f"{path} and {found[path.stem]}"
            found[path.stem] = path
    for room in {path.parent for path in FILES if path.stem == "__init__"}:
        named = found.get(room.name)
        is_apart = named is None or place_of(named).split("/")[0] != place_of(room).split("/")[0]
        assert is_apart or named.parent == room, f"{named} has the name of the room {room}"
