"""What README, gallery and tutorials show in Python passes type checkers, as editors run them.

``python -m tests.test_page_types PYTHON`` checks the blocks against what a Python has installed.
"""

import json
import os
import subprocess
import sys
import sysconfig
import tomllib
import venv
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.documents import DOCS, TUTORIALS, parts

CHECKED = [ROOT / "README.md", DOCS / "gallery.md", *sorted(TUTORIALS.glob("*.md"))]
CHECKERS = ("pyright", "mypy")


def write_blocks(folder: Path) -> list[Path]:
    """Write the blocks of Python of each page into a module; return the modules."""
    modules = []
    for page in CHECKED:
        blocks = [step.command for step in parts(page) if step.kind == "python"]
        if blocks:
            modules.append(folder / f"{page.stem.lower()}.py")
            modules[-1].write_text("\n\n".join(blocks), encoding="utf-8")
    return modules


def faults(checker: str, modules: list[Path], python: str) -> list[str]:
    """The errors of a checker in its basic mode, by what a Python has installed."""
    options = ["--pythonpath", python, "--outputjson", "--level", "error"]
    if checker == "mypy":  # where a package has no stubs, a user tells it so
        options = ["--python-executable", python, "--ignore-missing-imports", "--no-error-summary"]
        options += ["--config-file=", "--cache-dir", str(modules[0].parent / ".mypy")]
    command = [sys.executable, "-m", checker, *options, *map(str, modules)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=modules[0].parent)
    if checker == "mypy":
        return (done.stdout + done.stderr).splitlines()
    return [
        f"{found['file']}:{found['range']['start']['line'] + 1}: {found['message']}"
        for found in json.loads(done.stdout)["generalDiagnostics"]
    ]


def install(folder: Path) -> str:
    """Make an environment that has this tree's package as a plain install; return its Python."""
    venv.create(folder, with_pip=False)
    place = Path(sysconfig.get_path("purelib", "venv", {"base": folder, "platbase": folder}))
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for name, source in packages["tool"]["setuptools"]["package-dir"].items():
        target = place.joinpath(*name.split("."))
        target.mkdir(exist_ok=True)
        for entry in (ROOT / source).iterdir():
            (target / entry.name).symlink_to(entry)
    (place / "others.pth").write_text("\n".join(filter(os.path.isdir, sys.path)))
    return str(next(folder.glob("[bS]*/python*")))


@pytest.mark.slow
@pytest.mark.parametrize("checker", CHECKERS)
def test_the_python_of_pages_has_no_type_error(checker, tmp_path):
    pytest.importorskip(checker, reason=f"needs {checker}: pip install {checker}")
    python = install(tmp_path / "environment")
    assert faults(checker, write_blocks(tmp_path), python) == []


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        written = write_blocks(Path(place))
        found = [fault for name in CHECKERS for fault in faults(name, written, sys.argv[1])]
    print(*found, f"{len(found)} errors of types in {len(CHECKED)} pages", sep="\n")
    sys.exit(bool(found))
