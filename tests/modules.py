"""Every module of the package, however it is installed."""

import importlib
import pkgutil
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
    "setuptools"
]["packages"]


def all_modules() -> list[str]:
    """The names of all modules; an editable install hides those of sub-packages."""
    names = set(PACKAGES)
    for package in PACKAGES:
        path = importlib.import_module(package).__path__
        names |= {module.name for module in pkgutil.iter_modules(path, f"{package}.")}
    return sorted(name for name in names if not name.endswith(".__main__"))
