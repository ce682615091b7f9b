"""What is installed with the package: as little as stated, and stated as it is used."""

import ast
import re
import runpy
import sys
import tomllib
from functools import cache

from tests.conftest import ROOT

FOLDERS = ["vision", "features", "codebook", "classifiers", "apps"]
FILES = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
IMPORTED_AS = {
    "opencv-python-headless": "cv2",
    "pillow": "PIL",
    "pi-heif": "pi_heif",
    "scikit-image": "skimage",
    "python-multipart": "python_multipart",
    "rich-click": "rich_click",
    "scikit-learn": "sklearn",
}
# llvmlite has no wheels for Intel Macs since 0.46, and building it needs a matching LLVM.
INTEL_MACS = "numba<0.63; sys_platform == 'darwin' and platform_machine == 'x86_64'"
USED_BY = {"python-multipart": "starlette"}  # for forms, without an import of ours
BROUGHT = {"datasets"}  # by users who hand over its objects
COMES_WITH = {"llvmlite": "numba", "h11": "uvicorn"}  # parts of them in all but name
project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def name_of(requirement):
    return re.match(r"[a-zA-Z0-9-]+", requirement)[0]


def imported_name(requirement):
    return IMPORTED_AS.get(name_of(requirement), name_of(requirement))


@cache
def third_party_imports():
    """List the file, the package imported, and whether that happens when the file is imported."""
    found = []
    for path in FILES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module]
            else:
                continue
            for name in {name.partition(".")[0] for name in names}:
                if name not in {*sys.stdlib_module_names, "visualwords"}:
                    found.append((path, COMES_WITH.get(name, name), node in tree.body))
    return found


def needed_everywhere():
    return [requirement for requirement in project["dependencies"] if requirement != INTEL_MACS]


def requirements_of(*extras):
    chosen = [project["optional-dependencies"][name] for name in extras]
    return [r for requirements in chosen for r in requirements if name_of(r) != "visualwords"]


def test_every_requirement_states_the_lowest_version_and_nothing_else():
    """A highest version would keep people from fixes; an address would be a second supplier."""
    assert INTEL_MACS in project["dependencies"]
    for requirement in [*needed_everywhere(), *requirements_of(*project["optional-dependencies"])]:
        assert re.fullmatch(r"[a-z0-9-]+>=[0-9]+(\.[0-9]+)*", requirement), requirement


def test_what_files_import_at_once_is_a_dependency_and_the_rest_an_extra():
    needed = {imported_name(requirement) for requirement in project["dependencies"]}
    extras = {*project["optional-dependencies"]} - {"test", "bench", "dev"}
    optional = {imported_name(requirement) for requirement in requirements_of(*extras)}
    for path, name, is_at_once in third_party_imports():
        if is_at_once and path.parent.name != "export":  # that folder as a whole is an extra
            assert name in needed, f"{path} imports {name}"
        assert name in needed | optional | BROUGHT, f"{path} imports {name}"


def test_every_dependency_is_used():
    used = {name for _, name, _ in third_party_imports()}
    for requirement in project["dependencies"]:
        assert USED_BY.get(name_of(requirement), imported_name(requirement)) in used, requirement


def test_the_lowest_versions_are_those_that_are_stated_and_each_project_is_pinned_once():
    """The package runs with an older joblib than the extra for clusters."""
    lowest_versions = runpy.run_path(str(ROOT / ".ci" / "lowest_versions"))["lowest_versions"]
    core = dict(requirement.split(">=") for requirement in needed_everywhere())
    assert lowest_versions(True) == core
    extras = {*project["optional-dependencies"]} - {"test", "bench", "dev"}
    highest = dict(core)
    for requirement in requirements_of(*extras):
        name, version = requirement.split(">=")
        highest[name] = max(version, highest.get(name, "0"), key=numbers_of)
    assert lowest_versions(False) == highest
    assert highest["joblib"] != core["joblib"]


def numbers_of(version):
    return [int(part) for part in version.split(".")]


def test_the_package_runs_no_code_that_comes_as_text():
    for path in FILES:
        code = path.read_text(encoding="utf-8").replace("ast.literal_eval(", "")  # runs nothing
        for word in ("eval(", "exec(", "pickle.load", "shell=True", "os.system("):
            assert word not in code, f"{path} has {word}"
