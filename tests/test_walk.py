"""The new reader's walk in CONTRIBUTING names files in the order in which commands enter them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.slow
def test_the_walk_is_the_way_of_an_image():
    page = Path(ROOT, "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = page.split("## A new reader's walk")[1].split("\n## ")[0]
    walks = re.findall(r"(?ms)^1\. .*?(?=^$)", section)
    done = subprocess.run(
        [sys.executable, "benchmarks/figures/traced_files.py"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    traces = re.split(r"(?m)^\S.*: \d+ files$", done.stdout)[1:]
    assert len(walks) == len(traces) == 2
    for walk, trace in zip(walks, traces):
        entered = re.findall(r"(?m)^ +\d+ (\S+\.py)$", trace)
        named = re.findall(r"`(\S+\.py)`", walk)
        assert [name for name in named if name not in entered] == []
        assert named == sorted(named, key=entered.index)
