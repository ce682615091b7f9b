"""Whether tests notice faults: small changes of the code, one at a time, and the tests on each.

    python -m benchmarks.mutants BEFORE AFTER [--count 60] [--seed 0]

BEFORE and AFTER are checkouts with an environment in ``.venv`` that follows them; their files are
changed and restored. A change is made in a line that both have, so that a suite that was rewritten
can be held against the one before: of the mutants that the old tests kill, the new ones should kill
(nearly) all. Tests that mention the changed module run first, then those of its folder, then (new
ones only) all. Prints a line for each mutant, and the two numbers.
"""

import argparse
import ast
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

FOLDERS = ("vision", "features", "codebook", "classifiers", "apps")
SWAPS: dict[type, tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
}
SECONDS = 900  # of a run of tests; a mutant that hangs is killed


@dataclass(frozen=True)
class Mutant:
    """One change of one line.

    Attributes
    ----------
    folder : str
    line, changed : str
        Without the indentation.
    """

    folder: str
    line: str
    changed: str

    def __str__(self) -> str:
        return f"{self.folder}: {self.line}  →  {self.changed}"


def lines_of(root: Path, folder: str) -> dict[str, list[Path]]:
    """The files that contain each line, of the lines that are long enough to be told."""
    places: dict[str, list[Path]] = {}
    for path in sorted((root / folder).rglob("*.py")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if len(line.strip()) >= 20:
                places.setdefault(line.strip(), []).append(path)
    return places


def mutants_of(root: Path, folder: str) -> Iterator[Mutant]:
    """Yield the changes of operators and numbers in functions of a folder."""
    for path in sorted((root / folder).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines()
        for function in ast.walk(ast.parse(text)):
            if not isinstance(function, ast.FunctionDef):
                continue
            for statement in function.body:
                for node in ast.walk(statement):
                    span = _change(node, lines)
                    if span:
                        number, start, end, new = span
                        line = lines[number]
                        changed = line[:start] + new + line[end:]
                        yield Mutant(folder, line.strip(), changed.strip())


def _change(node: ast.AST, lines: list[str]) -> tuple[int, int, int, str] | None:
    """Line, first and last column and new text of a change; None if it is not to be made."""
    if isinstance(node, ast.Constant) and type(node.value) is int and node.col_offset >= 0:
        number = node.lineno - 1
        if lines[number].isascii() and node.lineno == node.end_lineno:
            return number, node.col_offset, node.end_col_offset or 0, str(node.value + 1)
        return None
    if isinstance(node, ast.Compare):
        pairs = [(node.left, node.ops[0], node.comparators[0])]
    elif isinstance(node, ast.BinOp):
        pairs = [(node.left, node.op, node.right)]
    elif isinstance(node, ast.BoolOp):
        pairs = [(node.values[0], node.op, node.values[1])]
    else:
        return None
    left, operator, right = pairs[0]
    swap = SWAPS.get(type(operator))
    if swap is None or left.end_lineno != right.lineno:
        return None
    number = right.lineno - 1
    between = lines[number][left.end_col_offset : right.col_offset]
    if not lines[number].isascii() or between.count(swap[0]) != 1:
        return None
    at = (left.end_col_offset or 0) + between.index(swap[0])
    return number, at, at + len(swap[0]), swap[1]


def common_mutants(before: Path, after: Path, seed: int) -> list[Mutant]:
    """Mutants in lines that both have exactly once, the folders taking turns."""
    chosen = []
    for folder in FOLDERS:
        old, new = lines_of(before, folder), lines_of(after, folder)
        once = {line for line in old if len(old[line]) == 1 == len(new.get(line, []))}
        found = sorted({m for m in mutants_of(before, folder) if m.line in once}, key=str)
        random.Random(seed).shuffle(found)
        seen: Counter[str] = Counter()
        for mutant in found:  # one of each line
            seen[mutant.line] += 1
            if seen[mutant.line] == 1:
                chosen.append((seen.total(), mutant))
    return [mutant for _, mutant in sorted(chosen, key=lambda pair: pair[0])]


@contextmanager
def applied(mutant: Mutant, root: Path) -> Iterator[Path]:
    """Change the one file of a checkout that has the line; restore it afterwards."""
    (path,) = lines_of(root, mutant.folder)[mutant.line]
    text = path.read_text(encoding="utf-8")
    try:
        path.write_text(text.replace(mutant.line, mutant.changed, 1), encoding="utf-8")
        yield path
    finally:
        path.write_text(text, encoding="utf-8")


def is_killed(mutant: Mutant, root: Path, widely: bool) -> str:
    """The tests that fail on a mutant: near it, of its folder, or of all; or nothing."""
    with applied(mutant, root) as path:
        module = ".".join(path.relative_to(root).with_suffix("").parts).replace("vision.", "", 1)
        name = module.removesuffix("." + path.stem)
        wanted = {module, f"{name} import {path.stem}", path.stem.lstrip("_")}
        tests = [*(root / "tests").rglob("test_*.py")]
        near = [t for t in tests if any(w in t.read_text(encoding="utf-8") for w in wanted)]
        near.sort(key=lambda test: path.stem.lstrip("_") not in test.stem)
        folder = root / "tests" / path.parent.relative_to(root)
        if near and _fails(root, [str(test) for test in near[:12]]):
            return "near"
        if folder.exists() and _fails(root, [str(folder)]):
            return "folder"
        return "all" if widely and _fails(root, ["tests"]) else ""


def _fails(root: Path, tests: list[str]) -> bool:
    command = [str(root / ".venv/bin/python"), "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
    try:
        done = subprocess.run(
            [*command, *tests], cwd=root, capture_output=True, timeout=SECONDS, env=os.environ
        )
    except subprocess.TimeoutExpired:
        return True
    return done.returncode not in (0, 5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--count", type=int, default=60, help="mutants that the old tests kill")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--part", default="1/1", help="which of several parts to run: 2/4")
    options = parser.parse_args()
    part, parts = map(int, options.part.split("/"))
    before, after = options.before.resolve(), options.after.resolve()
    mutants = common_mutants(before, after, options.seed)[part - 1 :: parts]
    killed = both = 0
    for mutant in mutants:
        if killed == options.count // parts:
            break
        old = is_killed(mutant, before, widely=False)
        new = is_killed(mutant, after, widely=True) if old else "-"
        killed += bool(old)
        both += bool(old) and bool(new)
        print(f"old {old or 'survives':9s} new {new or 'SURVIVES':9s} {mutant}", flush=True)
    print(f"{both} of {killed} mutants that the old tests kill are killed by the new")
    sys.exit(both < killed)


if __name__ == "__main__":
    main()
