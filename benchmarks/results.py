"""Figures of benchmarks as files in benchmarks/results, so that what is published can be traced.

A file holds the figures of one command with the state of the program, the date, the machine and
the versions of libraries. Run the benchmark from a clean checkout: the state says if it was not.
"""

import importlib.metadata
import json
import os
import platform
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import visualwords
from visualwords.files import write_atomically

FOLDER = Path(__file__).with_name("results")
STORE = "--store"
LIBRARIES = ("visualwords", "numpy", "scipy", "scikit-learn", "numba", "opencv-python-headless")


def provenance() -> dict[str, str]:
    """The origin of figures, other than the command."""
    return {
        "state": present_state(),
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{_processor()}, {os.cpu_count()} cores",
        "versions": versions(),
    }


def store(figures: Mapping[str, float], folder: Path = FOLDER) -> Path:
    """Write the figures of the benchmark that is running; return the file.

    Its name comes from the command's, so that the same command replaces its own figures only.
    """
    command = running_command()
    name = "-".join(re.findall(r"[\w.]+", command.removeprefix("python -m benchmarks.")))
    content = {"command": command, **provenance(), "figures": dict(figures)}
    path = folder / f"{name}.json"
    folder.mkdir(exist_ok=True)
    write_atomically(path, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())
    return path


def present_state() -> str:
    """The commit of a checkout, marked if files differ from it; else the version."""
    source = os.path.dirname(os.path.dirname(os.path.realpath(visualwords.__file__)))
    if os.path.exists(os.path.join(source, ".git")):
        command = ["git", "-C", source, "describe", "--always", "--dirty", "--exclude", "*"]
        try:
            done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=10)
        except (OSError, subprocess.TimeoutExpired):
            return visualwords.__version__
        if done.returncode == 0:
            return done.stdout.strip()
    return visualwords.__version__


def versions() -> str:
    """Versions of what the figures depend on."""
    named = [f"Python {platform.python_version()}"]
    for name in LIBRARIES:
        try:
            named.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:  # another distribution of the same library
            continue
    return ", ".join(named)


def running_command() -> str:
    """The command of this process, as one types it in the project's root."""
    spec = sys.modules["__main__"].__spec__
    if spec is None:
        raise RuntimeError("run the benchmark as a module: python -m benchmarks.…")
    given = [argument for argument in sys.argv[1:] if argument != STORE]
    return shlex.join(["python", "-m", spec.name, *given])


def _processor() -> str:
    """The processor's name and widest vector instructions, where Linux tells them."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.machine()
    named = re.search(r"^model name\s*:\s*(.+)$", text, re.M)
    width = next((title for flag, title in _WIDTHS if re.search(rf"\b{flag}\b", text)), "")
    return " ".join(filter(None, (named[1].strip() if named else platform.machine(), width)))


_WIDTHS = (("avx512bw", "with AVX-512"), ("avx2", "with AVX2"))
