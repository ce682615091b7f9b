"""What people see: names on one line, untested classes marked, skipped files bounded."""

import io
import re
import sys

import click
import pytest

from visualwords.apps.classify_images.evaluate import print_results
from visualwords.apps.command_line import process, verb
from visualwords.apps.command_line.terminal import (
    printable,
    progress_bars,
    say_skipped,
)
from visualwords.apps.evaluation.figures import compare


def test_any_file_name_is_shown_on_one_line():
    assert printable("a\nb\x1b[31m\udce9‮c") == r"a\nb\x1b[31m\udce9\u202ec"
    assert printable("straße 🌊.jpg") == "straße 🌊.jpg"


def test_a_class_without_test_images_is_marked_and_markup_in_names_is_text(capsys):
    print_results(compare(["[red]a"], ["[red]a"], known=["[red]a", "b"]))
    shown = capsys.readouterr().out
    assert "[red]a" in shown
    assert "not tested" in shown
    assert "1 of 1 right: 100.0%" in shown


def test_of_many_classes_those_with_the_lowest_recall_are_shown(capsys):
    classes = [f"c{i:03}" for i in range(200)]
    guesses = [name if i % 10 else "c001" for i, name in enumerate(classes)]
    print_results(compare(classes, guesses, classes))
    shown = capsys.readouterr().out
    assert all(f"c{i:03}" in shown for i in range(0, 200, 10))
    assert "c199" not in shown
    assert "and 140 with higher recall" in shown


def test_a_long_list_of_skipped_files_is_cut_and_counted(capsys):
    say_skipped([(f"{i}.jpg", "empty") for i in range(40)])
    shown = capsys.readouterr().err
    assert "40 files skipped" in shown
    n_more = int(re.search("and ([0-9]+) more", shown)[1])
    assert shown.count(".jpg: empty") == 40 - n_more > 0


@pytest.mark.parametrize(
    ("wanted", "written"),
    [(None, "█ Łódź\r\n".encode()), ("cp1252", b"\\u2588 \\u0141\xf3d\\u017a\r\n")],
    ids=["by default", "as asked for"],
)
def test_files_and_pipes_of_windows_get_utf8_whatever_the_code_page(monkeypatch, wanted, written):
    streams = [io.TextIOWrapper(io.BytesIO(), "cp1252", newline="\r\n") for _ in range(2)]
    monkeypatch.setattr(sys, "stdout", streams[0])
    monkeypatch.setattr(sys, "stderr", streams[1])
    monkeypatch.delenv("PYTHONIOENCODING", raising=False)
    if wanted:
        monkeypatch.setenv("PYTHONIOENCODING", wanted)
    with monkeypatch.context() as windows:
        windows.setattr(sys, "platform", "win32")
        process.open_standard_streams()
    for stream in streams:
        stream.write("█ Łódź\r\n")  # as a line of CSV ends
        stream.flush()
        assert stream.buffer.getvalue() == written


def test_patterns_are_expanded_where_shells_do_not(monkeypatch, tmp_path, capsys):
    for name in ("b.jpg", "a.jpg", "c[1].jpg", "c1.jpg"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)

    @click.command()
    @click.argument("names", nargs=-1)
    @click.option("--top")
    def told(names, top):
        print(*names)

    monkeypatch.setattr(sys, "argv", ["told", "*.jpg", "c[1].jpg", "*.png", "--top", "3"])
    found = {"linux": "*.jpg c[1].jpg *.png", "win32": "a.jpg b.jpg c1.jpg c[1].jpg c[1].jpg *.png"}
    for system, names in found.items():
        monkeypatch.setattr(sys, "platform", system)
        assert verb.run_command(told, "told") == 0
        assert capsys.readouterr().out.split() == names.split()


def test_without_the_events_of_numba_nothing_is_said_of_compiling(monkeypatch, capsys):
    monkeypatch.delattr("numba.core.event")
    monkeypatch.setitem(sys.modules, "numba.core.event", None)
    with progress_bars():
        pass
    assert capsys.readouterr().err == ""
