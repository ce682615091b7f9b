"""The documentation site: every page is found from its menus, and the reference is complete."""

import re
import shutil
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.test_public_names import PUBLIC

DOCS = ROOT / "docs"
LOOKED_AT = (
    "index",
    "tutorials/defects",
    "explanation/hik-svm",
    "reference/commands",
    "lab/accuracy",
)
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
    made = (DOCS / "results", DOCS / "reference" / "api")
    pages = [page for page in DOCS.rglob("*.md") if page.parent not in made]
    missing = [page.name for page in pages if page.with_suffix("") not in listed]
    assert missing == ["index.md"]


@pytest.fixture(scope="module")
def built_site(tmp_path_factory):
    """Build the site; a warning is an error."""
    pytest.importorskip("sphinx", reason="needs the extra docs")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-E", DOCS, folder]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
def test_the_site_builds_without_a_warning_and_names_everything(built_site):
    reference = (built_site / "reference" / "python.html").read_text(encoding="utf-8")
    for names in PUBLIC.values():
        assert all(name in reference for name in names if not name.startswith("__"))
    commands = (built_site / "reference" / "commands.html").read_text(encoding="utf-8")
    assert "classify-images watch" in commands
    pages = [page.read_text(encoding="utf-8") for page in built_site.glob("*.html")]
    assert not any(
        re.search(r"<(script|link|img)[^>]+(src|href)=\"https?:", page) for page in pages
    )


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_fault_of_accessibility(built_site, scheme):
    playwright = pytest.importorskip("playwright.sync_api")
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    with playwright.sync_playwright() as opened:
        browser = opened.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for width in (1280, 390):
            page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
            for name in LOOKED_AT:
                page.goto((built_site / f"{name}.html").as_uri())
                assert page.evaluate("document.documentElement.scrollWidth") == width, name
                assert axe.run(page).response["violations"] == [], name
        browser.close()
