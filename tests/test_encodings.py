"""Texts are UTF-8 on every system: whoever opens one says so; Windows would take its code page."""

import ast

import pytest

from tests.conftest import ROOT

FOLDERS = ["vision", "features", "codebook", "classifiers", "apps"]


def unnamed(tree):
    """Yield the calls that read or write text without naming its encoding."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        named = {keyword.arg: keyword.value for keyword in node.keywords}
        if "encoding" in named:
            continue
        is_text = name in ("read_text", "write_text") or "text" in named
        if name == "open" and isinstance(node.func, ast.Name):
            mode = [*node.args[1:2], *filter(None, [named.get("mode")])]
            is_text = not mode or not (isinstance(mode[0], ast.Constant) and "b" in mode[0].value)
        if is_text and name in ("read_text", "write_text", "open", "run", "Popen", "check_output"):
            yield f"line {node.lineno}: {ast.unparse(node)}"


def test_texts_are_opened_with_an_encoding():
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            found = list(unnamed(ast.parse(path.read_text(encoding="utf-8"))))
            assert not found, f"{path}: {found}"


@pytest.mark.parametrize("code", ["open(p)", "open(p, 'w')", "p.read_text()", "run(c, text=True)"])
def test_the_check_finds_what_it_looks_for(code):
    assert len(list(unnamed(ast.parse(code)))) == 1
