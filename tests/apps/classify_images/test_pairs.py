"""Every pair of two options of each command, each with a usual and an odd value.

The options are those of the commands themselves: one that has no value here fails the test. Every
line runs through the entry point in this process, on small folders, and what it wrote is looked at.
"""

import contextlib
import csv
import io
import json
import os
import xml.etree.ElementTree
from pathlib import Path
from unittest import mock

import click
import cv2
import numpy as np
import pytest

from tests.apps.classify_images.covering_array import covering_rows
from tests.apps.conftest import COLORS, noisy, write_png
from tests.apps.report.test_report import Tags
from visualwords import load
from visualwords.apps.classify_images.main import command
from visualwords.apps.command_line.verb import run_command
from visualwords.features import onnx as onnx_features
from visualwords.images import read_image

FOLDERS = ["even", "pair", "groups.csv", "grey", "mixed", "split"]
RECIPE = """
name = "own"
max_side = 64
[[channels]]
extractor = "DenseSIFT"
params = { step = 8 }
words = { n_words = 3, pyramid = 1 }
"""
VALUES = {  # usual, odd; {out} is a folder of the line's own; switches have none
    "folder": FOLDERS,
    "target": [*FOLDERS, "m.vw"],
    "models": ["m.vw", "two.vw", "m.vw two.vw"],
    "model": ["m.vw", "unknown.vw", "two.vw"],
    "image": ["even/sea/sea_0.png", "mixed/sand/sand_1.png"],
    "images": ["even", "pair/sea", "grey", "mixed", "even/sea/sea_0.png even/wood", "v.avi"],
    "recipe": ["own.toml", "auto"],
    "features": ["DenseSIFT(step=8)", "Centrist(layout='dense', step=8)"],
    "codebook": ["kmeans", "hik"],
    "words": ["4", "1"],
    "fisher": ["2", "1"],
    "second_order": ["4", "1"],
    "pyramid": ["1", "2x1"],
    "kernel": ["hik", "chi2"],
    "solver": ["icd", "kernel"],
    "C": ["1", "1e-6"],
    "max_side": ["64", "48"],
    "min_side": ["24", "40"],
    "views": ["mirror", "all"],
    "settings": ["C=2", "channels.weight=2"],
    "budget": ["0.01s", "0"],
    "deadline": ["5s", "0"],
    "label_from": ["([a-z]+)_[0-9]+", ".*?(?P<name>[a-z]+)_"],
    "test": ["even", "groups.csv"],
    "test_size": ["0.3", "0.01"],
    "folds": ["2", "9"],
    "thumbnails": ["--thumbnails", "--no-thumbnails"],
    "memory": ["1GB", "10kB"],
    "class_weight": ["balanced"],
    "costs": ["sea:sand=3", "sand:sea=0"],
    "thresholds": ["sea=0.5", "sand=0"],
    "unknown": ["0.05", "0.9"],
    "alarm": ["sea", "sea,sand"],
    "escapes": ["0.05", "0.9"],
    "false_alarms": ["0.05", "0.9"],
    "metric": ["accuracy", "cost"],
    "name": ["beach", "<script>\x1b[2J"],
    "note": ["of May", "é\u202e"],
    "report": ["{out}/r.html", "{out}/é <b>.HTML"],
    "seed": ["1", "4294967295"],
    "jobs": ["1", "3"],
    "cache_dir": ["cache", "{out}/é/cache"],
    "cache_size": ["1GB", "1"],
    "max_pixels": ["100000", "2000"],
    "config": ["seed.toml", "empty.toml"],
    "top": ["2", "99"],
    "min_confidence": ["0.5", "1"],
    "sort_into": ["{out}/sorted", "{out}/é b/c"],
    "every": ["1", "2"],
    "most": ["1", "99"],
    "max_fps": ["1000", "0.5"],
    "timeout": ["1", "0.1"],
    "reconnects": ["0", "2"],
    "network": ["nets", "missing.onnx"],
    "vary": ["C=1,2", "max_side=48,64"],
    "seeds": ["1", "2"],
    "plot": ["{out}/p.svg", "{out}/ü"],
    "labels": ["sea", "sand"],
    "journal": ["{out}/j", "{out}/é j.txt"],
    "settle": ["0s", "0.01s"],
}
OF_ONE = {  # command → values of its own
    "train": {"output": ["{out}/m.vw", "{out}/é m"]},
    "features": {
        "output": ["{out}/x.npz", "{out}/X.CSV"],
        "folder": ["even", "groups.csv", "mixed", "split"],
    },
    "predict": {"output": ["{out}/p.csv", "{out}/p.JSON"]},
    "explain": {"output": ["{out}/e.png", "{out}/E.JPEG"]},
    "check": {"recipe": ["own.toml", "tiny"]},
    "compare": {
        "recipe": ["own.toml", "other.toml"],
        "folder": ["even", "groups.csv", "split"],
        "folds": ["2", "3"],
    },
    "watch": {"output": ["{out}/w.csv", "{out}/w"], "folder": ["even", "grey", "mixed/sea"]},
}
PATCHES = ("words", "codebook", "fisher", "second_order", "sets")
MADE_OF = ("recipe", "features", *PATCHES, "pyramid", "kernel", "solver", "settings")
TESTS, FORMS = ("test", "test_size", "folds"), ("as_json", "as_csv", "as_markdown")
# Tested elsewhere: processes of a cluster, the help.
ALONE = ("scheduler", "help_all")


def clashes(verb):
    """The function that says which two choices of a command exclude each other."""
    groups = [{"recipe", "features"}, {"words", "codebook"}]
    exclusive = [("fisher", "second_order", "sets", "words"), FORMS]
    exclusive += [("fisher", "second_order", "sets", "codebook")]
    if verb == "train":
        exclusive += [TESTS, ("escapes", "false_alarms")]
        groups += [{"exportable", name} for name in ("solver", "kernel", "sets", "features")]
        groups += [{"exportable", "embed_network"}]
        groups += [{"embed_network", name} for name in MADE_OF]
    groups += [{a, b} for group in exclusive for a in group for b in group if a != b]
    groups.remove({"words", "codebook"})
    groups += [{name, part} for name in ("kernel", "solver") for part in PATCHES[2:]]
    groups += [{"sets", "pyramid"}]

    def clash(one, other):
        names, chosen = {one[0], other[0]}, {one, other}
        values = {one[1], other[1]}
        return (
            names in groups
            or chosen == {("kernel", "chi2"), ("solver", "icd")}
            or (names == {"label_from", "folder"} and "groups.csv" in values)
            or (names == {"label_from", "target"} and values & {"groups.csv", "m.vw"})
            or (names == {"report", "models"} and "m.vw two.vw" in values)
            or (names & {"sort_into", "output"} and "v.avi" in values)
        )

    return clash


def completed(verb, row):
    """A row with what its options need."""
    row = dict(row)
    if verb in ("train", "features") and not row.keys() & set(MADE_OF):
        row |= (
            {"features": "onnx:nets/net.onnx(mean=0, std=1)"}
            if "embed_network" in row
            else {"recipe": "own.toml"}
        )
    if verb == "train":
        row.setdefault("budget", "0")
        if row.keys() & {"escapes", "false_alarms"}:
            row.setdefault("alarm", "sea,sand")
        if row.get("metric") == "cost":
            row.setdefault("costs", "sea:sand=3")
    if verb == "compare":
        row.setdefault("vary", "C=1,2")
        if row.get("folder") != "split":
            row.setdefault("folds", "2")
    if verb == "watch":
        row |= {"once": "", "settle": row.get("settle", "0s")}
    return row


def line_of(verb, row, out):
    """The words of a row's command line; arguments come last."""
    words, arguments = [verb], []
    for parameter in command.commands[verb].params:
        value = row.get(parameter.name, "even" if parameter.name in ("folder", "target") else None)
        if value is None and isinstance(parameter, click.Argument):
            value = VALUES[parameter.name][0]
        if value is None:
            continue
        value = value.format(out=out)
        if isinstance(parameter, click.Argument):
            arguments += value.split()
        elif parameter.secondary_opts:
            words.append(value)
        else:
            words += [parameter.opts[-1], value] if value else [parameter.opts[-1]]
    return [*words, "--", *arguments]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Enter a folder with small folders of images, models of them, and what flags name."""
    from tests.apps.pipeline.test_networks import write_network

    root, rng = tmp_path_factory.mktemp("world"), np.random.default_rng(3)
    sizes = {"mixed": [(16, 24), (48, 64), (25, 33)]}
    rows = ["path,label,group"]
    for folder in ("even", "pair", "grey", "mixed", "split/train", "split/test"):
        for name, color in COLORS.items():
            for i in range(2 if folder == "pair" and name == "wood" else 3):
                image = noisy(color, rng, sizes.get(folder, [(24, 32)] * 3)[i])
                path = root / folder / name / f"{name}_{i}.png"
                write_png(
                    path, image if folder != "grey" else image.mean(2).astype(np.uint8)[..., None]
                )
                if folder == "even":
                    rows.append(f"{path},{name},scene {i % 2}")
    (root / "groups.csv").write_text("\n".join(rows))
    (root / "own.toml").write_text(RECIPE)
    (root / "other.toml").write_text(RECIPE.replace("own", "other").replace("8", "6"))
    (root / "seed.toml").write_text("")
    (root / "empty.toml").write_text("")
    write_network(root / "nets" / "net.onnx")
    video = cv2.VideoWriter(str(root / "v.avi"), cv2.VideoWriter.fourcc(*"MJPG"), 10, (32, 24))
    for color in COLORS.values():
        video.write(np.ascontiguousarray(noisy(color, rng, (24, 32))[:, :, ::-1]))
    video.release()
    before = os.getcwd()
    os.chdir(root)
    homes = {f"XDG_{kind}_HOME": str(root / kind) for kind in ("CACHE", "STATE")}
    with (
        mock.patch.dict(os.environ, homes),
        mock.patch.object(onnx_features, "check_runs"),  # a process; tests/features starts it
    ):
        two = root / "two"
        two.mkdir()
        for name in ("sea", "sand"):
            (two / name).symlink_to(root / "even" / name)
        for model, folder, *flags in (
            ("m.vw", "even", "--recipe", "tiny"),
            ("two.vw", "two", "--recipe", "own.toml"),
            ("unknown.vw", "even", "--recipe", "tiny", "--unknown", "0.3", "--cost", "sea:sand=2"),
        ):
            code, _, err = run(["train", folder, "-o", model, *flags, "-q"])
            assert code == 0, err
        yield root
    os.chdir(before)


def run(line):
    """Run a command line in this process; return its exit code and both outputs."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run_command(command, "classify-images", line)
    return code, out.getvalue(), err.getvalue()


def parsed(text):
    """The value of a JSON text; NaN and infinity are refused."""

    def refuse(name):
        raise AssertionError(f"{name} is no JSON")

    return json.loads(text, parse_constant=refuse)


def check_page(path):
    """Check that a report is one page that fetches nothing and has no markup of others."""
    page = Path(path).read_text(encoding="utf-8")
    tags = Tags(page)
    assert page.startswith("<!doctype html>")
    assert page.endswith("</html>")
    assert "script" not in tags.tags
    assert all(place.startswith("data:") for place in tags.addresses)
    assert {link for link in tags.links} <= {f"#{name}" for name in tags.names}


def class_of(path):
    return Path(path).parent.name


def check_labels(row, found):
    """Check the labels of files: those of their folders where no option asks for others."""
    assert {label for _, label in found} <= {*COLORS, "unknown"}
    is_plain = not row.keys() & {"thresholds", "costs", "unknown", "min_confidence"}
    if is_plain and row.get("model", "m.vw") == "m.vw" and row.get("images", "even") == "even":
        assert all(class_of(path) == label for path, label in found)


def check_train(row, out, summary):
    model = load(row["output"].format(out=out))
    assert model.predict(["even/sea/sea_0.png"])[0] in {*COLORS, "unknown"}
    assert set(model.classes_) == set(COLORS)
    has_thumbnails = row.get("thumbnails") != "--no-thumbnails"
    assert (model.gallery_.thumbnails is not None) == has_thumbnails
    if summary is not None:
        figures = summary.get("test") or summary["held_out"]
        assert figures is None or 0 <= figures["accuracy"] <= 1


def check_predict(row, out, printed):
    if row.get("images") == "v.avi":
        assert printed
        return
    path = row.get("output", "").format(out=out)
    text = Path(path).read_bytes().decode() if path else printed
    if "as_json" in row or (path.endswith("JSON") and "as_csv" not in row):
        answers = parsed(text)["predictions"]
        check_labels(row, [(one["path"], one["label"]) for one in answers])
        for one in answers:
            chances = list(one["probabilities"].values())
            assert chances == sorted(chances, reverse=True)
            assert sum(chances) < 1 + 1e-9
    elif "as_csv" in row or path:
        answers = list(csv.DictReader(io.StringIO(text)))
        check_labels(row, [(one["path"], one["label"]) for one in answers])
        assert all(0 <= float(one["probability"]) <= 1 for one in answers)
    else:
        assert "probability" in text
    if "sort_into" in row:
        copies = Path(row["sort_into"].format(out=out)).rglob("*.png")
        check_labels(row, [(copy, class_of(copy)) for copy in copies])


def check_features(row, out, printed):
    path = row["output"].format(out=out)
    if path.endswith("npz"):
        found = np.load(path)
        labels = list(zip(found["paths"].tolist(), found["labels"].tolist()))
    else:
        with open(path, encoding="utf-8", newline="") as file:
            labels = [(one["path"], one["label"]) for one in csv.DictReader(file)]
    assert labels
    assert all(class_of(path) == label for path, label in labels)


def check_explain(row, out, printed):
    if "output" in row:
        assert read_image(row["output"].format(out=out)).shape[1] > 600
    if "as_json" in row:
        for one in parsed(printed)["classes"].values():
            assert one["score"] == pytest.approx(one["offset"] + one["evidence"], abs=1e-4)


def check_watch(row, out, printed):
    path = row.get("output", "").format(out=out)
    text = Path(path).read_text(encoding="utf-8") if path else printed
    lines = text.splitlines()
    if "as_json" in row or (path and "as_csv" not in row and not path.endswith(".csv")):
        assert all(parsed(line)["path"] for line in lines)
    elif path or "as_csv" in row:
        assert all(len(cells) == 6 for cells in csv.reader(lines))


def check_line(verb, row, out, code, printed, told):
    """Check all that a line wrote."""
    assert code in ((0, 1, 2, 3, 4) if verb == "check" else (0, 1, 2, 3)), told
    assert "Traceback" not in printed + told
    assert "\x1b[2J" not in printed + told
    if code not in (0, 3) and verb != "check":
        assert told.count("error: ") + told.count("Error: ") == 1
        return
    summary = parsed(printed) if "as_json" in row and verb not in ("predict", "watch") else None
    if "report" in row and (verb != "train" or row.keys() & {*TESTS}):
        check_page(row["report"].format(out=out))
    if "plot" in row:
        xml.etree.ElementTree.parse(row["plot"].format(out=out))
    if verb == "train":
        check_train(row, out, summary)
    elif verb == "check":
        assert printed
    else:
        looks = {"predict": check_predict, "features": check_features, "explain": check_explain}
        looks.get(verb, check_watch if verb == "watch" else lambda *_: None)(row, out, printed)


@pytest.mark.filterwarnings("default")  # warnings are sentences of a command
@pytest.mark.parametrize(
    "verb", ["train", "predict", "evaluate", "compare", "features", "check", "explain", "watch"]
)
def test_every_pair_of_options_ends_as_documented(verb, world):
    params = [p for p in command.commands[verb].params if p.name not in ALONE]
    names = [p.name for p in params]
    switches = {p.name: [""] for p in params if getattr(p, "is_flag", False)}
    known = switches | VALUES | OF_ONE.get(verb, {})
    assert [name for name in names if not known.get(name)] == []  # options that occur in no pair
    rows, apart = covering_rows({name: known[name] for name in names}, clashes(verb))
    assert len(rows) > 3
    failed = []
    excluded = {frozenset(dict(pair)): dict(pair) for pair in apart}  # values matter to the others
    for number, row in enumerate([*rows, *excluded.values()]):
        row = completed(verb, row)
        if verb in ("train", "features"):
            row.setdefault("output", known["output"][0])
        out = world / "out" / f"{verb}{number}"
        out.mkdir(parents=True)
        line = line_of(verb, row, out)
        code, printed, told = run(line)
        try:
            check_line(verb, row, out, code, printed, told)
            assert number >= len(rows) or code != 2, told  # what excludes each other is told apart
        except Exception as problem:  # all lines are tried
            failed.append(
                f"{' '.join(line)}\n  {code}: {told[-300:].strip()}\n  {str(problem)[:100]}"
            )
    assert not failed, "\n".join(failed[:20])
