"""Help, exit codes and notes: what every command says in the same way."""

import click
import numba
import pytest

from visualwords.apps.classify_images.main import command as classify_images
from visualwords.apps.command_line import terminal
from visualwords.apps.command_line.verb import BASICS, DURATION, SIZE, Number, Verb, run_command
from visualwords.apps.detect_pedestrians.main import command as detect_pedestrians


@pytest.mark.parametrize("group", [classify_images, detect_pedestrians], ids=lambda g: g.name)
def test_help_shows_the_basics_and_help_all_every_option_in_its_group(group, capsys):
    codes = [0, 1, 2, 3, 4, 70, 130]
    assert run_command(group, "it", ["--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert all(f" {code} " in shown for code in codes)
    for name, verb in group.commands.items():
        assert name in shown
        if not isinstance(verb, Verb):
            continue
        options = [p for p in verb.params if isinstance(p, click.Option)]
        groups = {getattr(option, "panel", BASICS) for option in options} - {BASICS}
        assert run_command(group, "it", [name, "--help"]) == 0
        basics, _, more = capsys.readouterr().out.partition("More options")
        assert BASICS in basics
        assert all(f"{title}: " in more for title in groups)
        assert run_command(group, "it", [name, "--help-all"]) == 0
        everything = capsys.readouterr().out
        assert all(title in everything for title in groups)
        for option in options:
            flag = max(option.opts, key=len)
            assert flag in everything
            assert flag in (basics if getattr(option, "panel", BASICS) == BASICS else more)


def test_an_unexpected_error_is_one_sentence_with_its_place_and_code_70(capsys):
    @click.command()
    def broken():
        raise RuntimeError("two\nlines")

    assert run_command(broken, "broken", []) == 70
    (line,) = capsys.readouterr().err.splitlines()
    assert "unexpected RuntimeError: two lines (test_help.py, line " in line


def test_a_mistyped_verb_gets_a_suggestion(capsys):
    assert run_command(classify_images, "it", ["predcit", "m.vw"]) == 2
    assert "no command 'predcit'; did you mean predict?" in capsys.readouterr().err


def test_compiling_is_noted_once_in_a_command_and_only_where_it_takes_long(monkeypatch, capsys):
    @click.command(cls=Verb)
    def compiles():
        for loop in (lambda x: x + 1, lambda x: x + 2):
            with terminal.progress_bars():
                numba.njit(loop)(1)

    for seconds, times in ((0.0, 1), (600.0, 0)):
        monkeypatch.setattr(terminal, "LONG", seconds)
        assert run_command(compiles, "it", []) == 0
        assert capsys.readouterr().err.count("compiling") == times


DURATIONS = {"90": 90, "90s": 90, "1.5m": 90, "2h": 7200, "0": 0}
SIZES = {"2000": 2000, "1.5 kB": 1500, "2GiB": 2 << 30, "0": 0}


@pytest.mark.parametrize(
    ("kind", "read", "refused", "sentence"),
    [
        (DURATION, DURATIONS, " s -1s nan inf 1d soon 1e999h", "not a duration; write it like 90s"),
        (SIZE, SIZES, " MB -1 1_T\nB 1_TB\n 1e9 inf", "not a memory size; write it like 500MB"),
        (Number(min=1), {"2.5": 2.5}, "nan inf 1e999 -inf 0", "not a finite|not in the range"),
    ],
    ids=["duration", "size", "number"],
)
def test_amounts_are_read_as_people_write_them(kind, read, refused, sentence):
    kind = click.types.convert_type(kind)
    assert {written: kind.convert(written, None, None) for written in read} == read
    for written in refused.split(" "):
        with pytest.raises(click.BadParameter, match=sentence):
            kind.convert(written.replace("_", " "), None, None)
