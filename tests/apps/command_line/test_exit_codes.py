"""Exit codes: one home, and no traceback whatever happens."""

import click

from visualwords.apps.command_line import exit_codes
from visualwords.apps.command_line.verb import run_command


def test_an_unexpected_error_is_one_sentence_with_its_place_and_code_70(capsys):
    @click.command()
    def broken():
        raise RuntimeError("two\nlines")

    assert run_command(broken, "broken", []) == exit_codes.UNEXPECTED == 70
    (line,) = capsys.readouterr().err.splitlines()
    assert "unexpected RuntimeError: two lines (test_exit_codes.py, line " in line


def test_the_help_of_every_command_lists_all_exit_codes(capsys):
    from visualwords.apps.classify_images.main import main as classify_images
    from visualwords.apps.detect_pedestrians.main import main as detect_pedestrians

    codes = {v for v in vars(exit_codes).values() if isinstance(v, int)}
    for main in (classify_images, detect_pedestrians):
        assert main(["--help"]) == 0
        shown = " ".join(capsys.readouterr().out.split())
        assert all(f" {code} " in shown for code in codes)


def test_a_mistyped_verb_gets_a_suggestion(capsys):
    from visualwords.apps.classify_images.main import main

    assert main(["predcit", "m.vw"]) == exit_codes.USAGE
    assert "no verb 'predcit'; did you mean predict?" in capsys.readouterr().err
