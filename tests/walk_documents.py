"""Walk the README and all guides as a newcomer: a new environment, every command, every block.

    python -m tests.walk_documents                     all pages
    python -m tests.walk_documents README.md docs/how-to/use-a-cluster.md

Copies the committed files, runs the README's first command in the copy, and then, in a folder with
images, the commands and the Python of every page, one after the other. Outputs are compared with
those that a page shows; lines whose numbers differ are listed, and commands in
`tests.documents.NOT_RUN` with the reason. Ends with 1 if anything failed.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

from tests.conftest import ROOT
from tests.documents import (
    NOT_RUN,
    PAGES,
    TUTORIALS,
    Step,
    blocks,
    comparable,
    ids,
    parts,
    write_user_folder,
)

FIRST = re.compile(r"<!-- demo -->\n```bash\n(.+?)\n```\n", re.S)
EXTRAS = "distributed,onnx,parquet,plots"  # of the guides after the README
NEEDED = re.compile(r"You need `(pip install [\w -]+)`")  # as a page says
MINUTES = 20  # at most, for one command


class Walk:
    """Runs commands of pages in a folder; counts those that fail."""

    def __init__(self, folder: Path):
        self.folder, self.failures = folder, 0
        self.environment = os.environ | {"XDG_CACHE_HOME": str(folder / "cache"), "NO_COLOR": "1"}
        self.server: subprocess.Popen | None = None

    def activate(self, environment: Path) -> None:
        """Put the commands of an environment first on the path, as its script activate does."""
        path = self.environment["PATH"]
        self.environment["PATH"] = f"{environment / 'bin'}{os.pathsep}{path}"

    def run(self, command: str | list[str], folder: Path | None = None) -> str:
        """Run a command and return what it printed; count and show a failure."""
        start = time.perf_counter()
        done = subprocess.run(
            ["bash", "-c", command] if isinstance(command, str) else command,
            cwd=folder or self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60 * MINUTES,
        )
        self.report(done.returncode == 0, str(command), time.perf_counter() - start)
        if done.returncode:
            print(done.stdout + done.stderr)
        return done.stderr + done.stdout

    def report(self, is_good: bool, what: str, seconds: float = 0.0) -> None:
        self.failures += not is_good
        print(f"{'ok  ' if is_good else 'FAIL'} {seconds:6.1f} s  {what[:150]}", flush=True)

    def step(self, step: Step) -> None:
        """Run one command of a page, and compare its output."""
        reason = next((why for what, why in NOT_RUN.items() if re.search(what, step.command)), None)
        if reason:
            print(f"--           {step.command[:90]}: {reason}", flush=True)
        elif re.search(" serve | studio", step.command):
            self.serve(step.command)
        else:
            self.compare(step.output or "", self.run(step.command))

    def compare(self, shown: str, printed: str) -> None:
        """Count a failure if a command did not print the lines of a page; note other figures."""
        said = comparable(printed)
        missing = [line for line in comparable(shown) if line not in said]
        if missing:
            self.report(False, f"the page shows other lines: {missing}")
        exactly = {" ".join(line.split()) for line in printed.splitlines()}
        for line in shown.splitlines():
            if comparable(line) and " ".join(line.split()) not in exactly:
                print(f"     other figures than the page's: {line}")

    def serve(self, command: str, folder: Path | None = None) -> None:
        """Start a server and wait for its address; it ends with the page, or before the next."""
        self.stop_server()
        self.server = subprocess.Popen(
            ["bash", "-c", f"exec {command}"],
            cwd=folder or self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self.server.stdout is not None
        address = self.server.stdout.readline()
        self.report(address.startswith("http://127.0.0.1:"), f"{command}: {address.strip()}")

    def stop_server(self) -> None:
        if self.server is not None:
            self.server.send_signal(signal.SIGINT)
            self.server.communicate(timeout=20)
            self.server = None

    def steps(self, page: Path) -> None:
        """Run a page part by part; a block of Python begins with those above it."""
        code = ""
        for step in parts(page):
            if step.kind == "bash":
                self.step(step)
                continue
            code += step.command
            script = self.folder / "page.py"
            script.write_text(code, encoding="utf-8")
            self.compare(step.output or "", self.run(["python", str(script)]))
        self.stop_server()

    def page(self, page: Path) -> None:
        """Run a page, a tutorial in a folder of its own; install what it says one needs."""
        print(f"\n{ids(page)}", flush=True)
        for command in NEEDED.findall(page.read_text(encoding="utf-8")):
            self.run(command)
        guides = self.folder
        if page.parent == TUTORIALS:
            self.folder = guides / page.stem
            self.folder.mkdir()
        self.steps(page)
        self.folder = guides


def walk(pages: list[Path], place: Path) -> int:
    """Walk the pages in a new folder; return how many steps failed."""
    copy, user = place / "visualwords", place / "user"
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True)
    (place / "files.tar").write_bytes(archive.stdout)
    with tarfile.open(place / "files.tar") as files:
        files.extractall(copy, filter="data")
    user.mkdir()
    write_user_folder(user)
    walk = Walk(user)
    readme = (copy / "README.md").read_text(encoding="utf-8")
    first = FIRST.search(readme)
    assert first is not None
    printed = walk.run(first[1], copy)
    shown = next(blocks(copy / "README.md", ""), None)
    walk.compare(shown[0] if shown else "", printed)
    for line in re.findall(r"^(?:Predict|See why): +(.+)$", printed, re.M):  # as the demo says
        if " serve " in line:
            walk.serve(line, copy)
        else:
            walk.run(line, copy)
    walk.stop_server()
    walk.activate(copy / ".venv")
    walk.run(f"pip install -q '{copy}[{EXTRAS}]'")
    for page in pages:
        walk.page(page)
    return walk.failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", help="default: all")
    options = parser.parse_args()
    pages = [ROOT / name for name in options.pages] or PAGES
    with tempfile.TemporaryDirectory() as place:
        failures = walk(pages, Path(place))
    print(f"\n{failures} failed" if failures else "\nall pages passed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
