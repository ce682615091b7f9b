"""What must not get worse: accuracy on folds, cost, size and weight, in one small table.

    python -m benchmarks.ledger                       measure and append to benchmarks/ledger.json
    python -m benchmarks.ledger --quick               three sets and three recipes, in five minutes
    python -m benchmarks.ledger --against FILE        measure, then print what differs beyond noise
    python -m benchmarks.ledger --against FILE --last    compare the last entry without measuring

Only training images of the data sets are read: halves of them train, the other halves are
predicted, and the other way round. Everything runs by the installed commands in processes of their
own, one job each, so that CPU seconds and peak memory are those a person would see; two run at a
time (``--processes``). ``--root`` and ``--python`` measure another checkout, which may name its
recipes otherwise (``--alias fisher=photo``).

Noise: accuracies are compared image by image (a difference beyond twice its standard error
counts), everything else by the share in `NOISE`.
"""

import argparse
import csv
import json
import math
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from benchmarks.data import DATA
from benchmarks.weight import weigh
from visualwords.files import write_atomically

LEDGER = Path(__file__).with_suffix(".json")
HERE = Path(__file__).resolve().parents[1]
RECIPES = (
    *("tiny", "fast", "words", "rich-words"),
    *("fisher", "rich-fisher", "moments", "pyramid-match"),
)
AUTO = "auto 20 s"
SETS = ("blood", "tiles", "traffic", "corel1000", "scene15", "caltech101")
QUICK_SETS, QUICK_RECIPES = ("blood", "tiles", "corel1000"), ("tiny", "words", "fisher")
MOST = {"traffic": 10, "tiles": 60, "corel1000": 30, "scene15": 30, "caltech101": 15}  # a class
CLASSES = {"caltech101": 40}
SPEED = (  # benchmarks whose ratios to peers are kept
    ("speed.icd", "bow"),
    ("speed.kernels", "gram", "hash"),
    ("speed.features",),
    ("speed.codebook", "assign"),
    ("speed.pyramid_match",),
    ("speed.kernel_svc", "pairs"),
)
NOISE = {"CPU": 0.15, "memory": 0.1, "bytes": 0.05, "ratio": 0.25, "weight": 0.0, "miss rate": 0.02}
LESS_IS_BETTER = ("CPU", "memory", "bytes", "weight", "miss rate")


@dataclass
class Entry:
    """One state of the project.

    Attributes
    ----------
    state : dict
        Commit, date and machine.
    numbers : dict of "kind: what" → value
    right : dict of "set recipe" → hexadecimal number
        Its bits are the images in order; set where the label is right.
    """

    state: dict[str, str]
    numbers: dict[str, float]
    right: dict[str, str]


class Run(NamedTuple):
    """What one process cost, and what it printed."""

    output: str
    cpu: float
    memory: int


class Measured(NamedTuple):
    """The checkout that is measured."""

    root: Path
    python: str
    names: dict[str, str]  # of recipes, where the checkout calls them otherwise

    def command(self, *words: str, name: str = "classify_images") -> Run:
        """Run one of the commands; return what it printed, its CPU seconds and peak memory."""
        return self.process("-m", f"visualwords.apps.{name}", *words)

    def process(self, *words: str) -> Run:
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
            child = subprocess.Popen(
                [self.python, *words], stdout=out, stderr=errors, cwd=self.root, env=_one_thread()
            )
            _, status, used = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            errors.seek(0)
            if child.returncode not in (0, 3):
                raise SystemExit(f"{' '.join(words)}: exit {child.returncode}\n{errors.read()}")
            return Run(out.read(), used.ru_utime + used.ru_stime, 1024 * used.ru_maxrss)


def _one_thread() -> dict[str, str]:
    names = ("OMP", "OPENBLAS", "NUMBA")
    return os.environ | {f"{name}_NUM_THREADS": "1" for name in names}


class Half(NamedTuple):
    """A table of training images and a list of images to predict, with their labels."""

    table: Path
    paths: list[str]
    labels: list[str]


def halves_of(name: str, folder: Path) -> list[Half]:
    """Write the two tables of a data set; groups are not divided."""
    rows = _training_rows(name)
    by_class: dict[str, list[str]] = defaultdict(list)
    for _, label, group in rows:
        if group not in by_class[label]:
            by_class[label].append(group)
    first = {group for groups in by_class.values() for group in groups[::2]}
    halves = []
    for number in (0, 1):
        table = folder / f"{name}{number}.csv"
        train = [row for row in rows if (row[2] in first) == (number == 0)]
        test = [row for row in rows if (row[2] in first) != (number == 0)]
        with table.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([("path", "label", "group"), *train])
        halves.append(Half(table, [row[0] for row in test], [row[1] for row in test]))
    return halves


def _training_rows(name: str) -> list[tuple[str, str, str]]:
    """Path, label and group of the images of a set that choices may be made on."""
    table = DATA / "tasks" / name / "table.csv"
    if table.exists():
        with table.open(newline="", encoding="utf-8") as file:
            rows = [
                (str(table.parent / row["path"]), row["label"], row["group"])
                for row in csv.DictReader(file)
                if row["split"] == "train"
            ]
    else:
        root = DATA / name / "train" if (DATA / name / "train").exists() else DATA / name
        files = (path for path in sorted(root.glob("*/*")) if path.is_file())
        rows = [(str(path), path.parent.name, str(path)) for path in files]
    classes = sorted({label for _, label, _ in rows} - {"BACKGROUND_Google"})
    kept = set(classes[: CLASSES.get(name)])
    counts: dict[str, int] = defaultdict(int)
    chosen = []
    for row in rows:
        counts[row[1]] += 1
        if row[1] in kept and counts[row[1]] <= MOST.get(name, 10**9):
            chosen.append(row)
    return chosen


def measure_recipe(measured: Measured, name: str, recipe: str, half: Half, folder: Path) -> dict:
    """Train on one half and predict the other."""
    model, paths = folder / f"{half.table.stem}-{recipe}.vw", folder / f"{half.table.stem}.txt"
    paths.write_text("\n".join(half.paths) + "\n", encoding="utf-8")
    how = ["--jobs", "1", "--no-cache", "--quiet"]
    wanted = ["--recipe", measured.names.get(recipe, recipe)]
    if recipe == AUTO:
        wanted = ["--recipe", "auto", "--budget", "20s"]
    training = measured.command("train", str(half.table), "-o", str(model), *wanted, *how)
    begun = folder / f"{half.table.stem}-{recipe}.json"
    prediction = measured.command(
        *("predict", str(model), *half.paths, "--json", *how), "-o", str(begun)
    )
    predicted = json.loads(begun.read_text(encoding="utf-8"))["predictions"]
    said = {os.path.realpath(row["path"]): row["label"] for row in predicted}
    right = [said.get(os.path.realpath(p)) == label for p, label in zip(half.paths, half.labels)]
    size = model.stat().st_size
    model.unlink()
    return {"train": training, "predict": prediction, "right": right, "bytes": size}


def measure_accuracy(measured: Measured, quick: bool, n_processes: int) -> Entry:
    """Train and predict every recipe on both halves of every set."""
    sets = QUICK_SETS if quick else SETS
    recipes = QUICK_RECIPES if quick else (*RECIPES, AUTO)
    entry = Entry({}, {}, {})
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(n_processes) as pool:
        folder = Path(place)
        _compile(measured, recipes, folder)
        halves = {name: halves_of(name, folder) for name in sets}
        tasks = {
            (name, recipe): [
                pool.submit(measure_recipe, measured, name, recipe, half, folder)
                for half in halves[name]
            ]
            for recipe in recipes
            for name in sets
        }
        for (name, recipe), both in tasks.items():
            done = [task.result() for task in both]
            labels = [label for half in halves[name] for label in half.labels]
            right = [value for one in done for value in one["right"]]
            where = f"{name} {recipe}"
            entry.right[where] = hex(int("1" + "".join("01"[value] for value in right), 2))
            numbers = {
                f"accuracy: {where}": mean_per_class(labels, right),
                f"CPU: train {where}": sum(one["train"].cpu for one in done),
                f"CPU: predict {where}": sum(one["predict"].cpu for one in done),
                f"memory: train {where}": max(one["train"].memory for one in done),
                f"memory: predict {where}": max(one["predict"].memory for one in done),
                f"bytes: model {where}": max(one["bytes"] for one in done),
            }
            entry.numbers |= numbers
            print(
                f"{where:28s} {100 * numbers[f'accuracy: {where}']:5.1f} %"
                f" {numbers[f'CPU: train {where}']:7.1f} s"
                f" {numbers[f'CPU: predict {where}']:7.1f} s"
                f" {numbers[f'memory: train {where}'] / 1e6:6.0f} MB",
                flush=True,
            )
    for recipe in recipes:
        figures = [entry.numbers[f"accuracy: {name} {recipe}"] for name in sets]
        entry.numbers[f"accuracy: mean {recipe}"] = sum(figures) / len(figures)
    return entry


def mean_per_class(labels: Sequence[str], right: Sequence[bool]) -> float:
    """The mean over classes of the share of right labels.

    Examples
    --------
    >>> mean_per_class(["cat", "cat", "dog"], [True, False, True])
    0.75
    """
    shares = defaultdict(list)
    for label, value in zip(labels, right):
        shares[label].append(value)
    return sum(sum(values) / len(values) for values in shares.values()) / len(shares)


def _compile(measured: Measured, recipes: Sequence[str], folder: Path) -> None:
    """Run every recipe once, so that no measurement contains compilation."""
    half = halves_of("blood", folder)[0]
    for recipe in recipes:
        measure_recipe(measured, "blood", recipe, half, folder)


def measure_shell(measured: Measured) -> dict[str, float]:
    """CPU and memory of the prediction of one image by a process of its own."""
    numbers: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as place:
        half = halves_of("corel1000", Path(place))[0]
        for recipe in ("tiny", "words", "fisher"):
            model = os.path.join(place, f"{recipe}.vw")
            name = measured.names.get(recipe, recipe)
            how = ["--jobs", "1", "--quiet", "--no-cache"]
            measured.command("train", str(half.table), "-o", model, "--recipe", name, *how)
            runs = [measured.command("predict", model, half.paths[0], *how) for _ in range(5)]
            numbers[f"CPU: predict one image {recipe}"] = min(run.cpu for run in runs)
            numbers[f"memory: predict one image {recipe}"] = min(run.memory for run in runs)
    numbers["CPU: help"] = min(measured.command("--help").cpu for _ in range(5))
    return numbers


def measure_detector(measured: Measured) -> dict[str, float]:
    """The miss rate of the bundled detector on every third test scene, and its CPU."""
    scenes = DATA / "pedestrian" / "test"
    with tempfile.TemporaryDirectory() as place:
        third = Path(place, "scenes")
        third.mkdir()
        for path in sorted((scenes / "scenes").iterdir())[::3]:
            (third / path.name).symlink_to(path)
        with (scenes / "annotations.csv").open(encoding="utf-8") as file:
            lines = list(csv.reader(file))
        kept = [row for row in lines[1:] if (third / row[0]).exists()]
        with Path(place, "boxes.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([lines[0], *kept])
        words = ["evaluate", str(third), "--annotations", os.path.join(place, "boxes.csv")]
        run = measured.command(
            *words, "--json", "--quiet", "--jobs", "1", name="detect_pedestrians"
        )
    figures = json.loads(run.output)
    return {
        "miss rate: detector": float(figures["log_average_miss_rate"]),
        "CPU: detector": run.cpu,
        "memory: detector": run.memory,
    }


def measure_speed(measured: Measured) -> dict[str, float]:
    """The ratios that benchmarks print: the peer's CPU time to ours."""
    numbers = {}
    for script, *parts in SPEED:
        run = measured.process("-m", f"benchmarks.{script}", *parts)
        title = previous = ""
        for line in run.output.splitlines():
            row = re.match(r"(.{52}) +[\d.]+ ms +[\d.]+ ms +([\d.]+)×", line)
            if row:
                numbers[f"ratio: {script} {title} {row[1].strip()}"] = float(row[2])
            elif line.startswith("work "):  # the head of a table, below its title
                title = previous
            previous = line.strip()
    return numbers


def measure(measured: Measured, quick: bool, n_processes: int) -> Entry:
    begun = time.monotonic()
    entry = measure_accuracy(measured, quick, n_processes)
    entry.numbers |= measure_shell(measured)
    if not quick:
        entry.numbers |= measure_detector(measured)
        entry.numbers |= measure_speed(measured)
    entry.numbers |= {f"weight: {name}": value for name, value in weigh(measured.root).items()}
    entry.state = {
        "commit": _commit(measured.root),
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "minutes": f"{(time.monotonic() - begun) / 60:.0f}",
    }
    return entry


def _commit(root: Path) -> str:
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=root, capture_output=True, text=True
    )
    return done.stdout.strip()


def differences(old: Entry, new: Entry) -> list[str]:
    """A line for every figure that both have and that differs beyond noise."""
    lines = []
    for name in sorted(old.numbers.keys() & new.numbers.keys()):
        kind, what = name.split(": ", 1)
        before, after = old.numbers[name], new.numbers[name]
        if kind == "accuracy":
            error = _standard_error(old, new, what)
            if abs(after - before) <= 2 * error or math.isclose(before, after):
                continue
            verdict = "worse" if after < before else "better"
            lines.append(
                f"{verdict:7s} {name}: {100 * before:.1f} % → {100 * after:.1f} %"
                f" (standard error {100 * error:.1f})"
            )
        elif abs(after - before) > NOISE[kind] * abs(before):
            worse = (after > before) == (kind in LESS_IS_BETTER)
            ratio = f", {after / before:.2f}×" if before else ""
            lines.append(
                f"{'worse' if worse else 'better':7s} {name}: {before:,.4g} → {after:,.4g}{ratio}"
            )
    return sorted(lines, reverse=True)  # worse before better


def _standard_error(old: Entry, new: Entry, what: str) -> float:
    """The standard error of a difference between accuracies on the same images."""
    if what.startswith("mean "):
        sets = [key for key in old.right.keys() & new.right.keys() if key.endswith(what[4:])]
        errors = [_standard_error(old, new, key) for key in sets]
        return math.sqrt(sum(error**2 for error in errors)) / max(len(errors), 1)
    if not (what in old.right and what in new.right):
        return 0.0
    before, after = int(old.right[what], 16), int(new.right[what], 16)
    n_images = before.bit_length() - 1
    return math.sqrt((before ^ after).bit_count()) / n_images


def read_ledger(path: Path) -> list[Entry]:
    return [Entry(**entry) for entry in json.loads(path.read_text(encoding="utf-8"))]


def write_ledger(path: Path, entries: Sequence[Entry]) -> None:
    text = json.dumps([vars(entry) for entry in entries], indent=0, ensure_ascii=False)
    write_atomically(path, (text + "\n").encode())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="three sets and recipes")
    parser.add_argument("--against", type=Path, metavar="FILE", help="compare with its first entry")
    parser.add_argument("--last", action="store_true", help="compare the last entry; measure none")
    parser.add_argument("--root", type=Path, default=HERE, help="checkout to measure")
    parser.add_argument("--python", default=sys.executable, help="interpreter that it is for")
    parser.add_argument("--processes", type=int, default=2, help="that run at a time")
    parser.add_argument("--alias", nargs="*", default=[], metavar="NEW=OLD", help="recipe's names")
    options = parser.parse_args()
    names = dict(alias.split("=", 1) for alias in options.alias)
    entries = read_ledger(LEDGER) if LEDGER.exists() else []
    if options.last:
        new = entries[-1]
    else:
        measured = Measured(options.root.resolve(), options.python, names)
        new = measure(measured, options.quick, options.processes)
        kept = [entry for entry in entries if entry.state["commit"] != new.state["commit"]]
        write_ledger(LEDGER, [*kept, new])
    if options.against:
        old = read_ledger(options.against)[0]
        print(f"{old.state['commit']} → {new.state['commit']}")
        print("\n".join(differences(old, new)) or "nothing differs beyond noise")


if __name__ == "__main__":
    main()
