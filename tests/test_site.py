"""The documentation site: every page is found from its menus, and the reference is complete."""

import re

import pytest

from tests.conftest import ROOT
from tests.test_public_names import PUBLIC

DOCS = ROOT / "docs"
TOCTREE = re.compile(r"```\{toctree\}\n(.*?)```", re.S)


def listed_pages():
    """Yield the pages that menus name, as paths without their ending."""
    for page in DOCS.rglob("*.md"):
        for menu in TOCTREE.findall(page.read_text(encoding="utf-8")):
            for line in menu.splitlines():
                if line and not line.startswith(":"):
                    yield (page.parent / line).resolve()


def test_every_page_is_in_a_menu():
    listed = set(listed_pages())
    results = DOCS / "results"
    pages = [
        page for page in DOCS.rglob("*.md") if page.parent not in (results, DOCS / "reference")
    ]
    missing = [page.name for page in pages if page.with_suffix("") not in listed]
    assert missing == ["index.md"]


@pytest.mark.slow
def test_the_site_builds_without_a_warning_and_names_everything(tmp_path):
    build = pytest.importorskip("sphinx.cmd.build", reason="needs the extra docs")
    assert build.main(["-q", "-W", "--keep-going", "-E", str(DOCS), str(tmp_path)]) == 0
    reference = (tmp_path / "reference" / "python.html").read_text(encoding="utf-8")
    for names in PUBLIC.values():
        assert all(name in reference for name in names if not name.startswith("__"))
    commands = (tmp_path / "reference" / "commands.html").read_text(encoding="utf-8")
    assert "classify-images watch" in commands
    pages = [page.read_text(encoding="utf-8") for page in tmp_path.glob("*.html")]
    assert not any(
        re.search(r"<(script|link|img)[^>]+(src|href)=\"https?:", page) for page in pages
    )
