"""The report as people see it: rendered by a real browser, wide and narrow, and printed."""

import pytest

from visualwords import ImageClassifier
from visualwords.apps.classify_images.demo_images import write_demo
from visualwords.apps.evaluation.trial import run_trial
from visualwords.apps.report import write_report
from visualwords.folders import ImageFolder

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Give the report of a model of few words that makes mistakes on the demo's tiles."""
    folder = tmp_path_factory.mktemp("report")
    images = ImageFolder(write_demo("tiles", folder / "tiles"))
    training, testing = images.part("train"), images.part("test")
    some = training.select(range(0, len(training), 5))
    model = ImageClassifier("words", n_words=8, pyramid=1).fit(some)
    trial = run_trial(model, testing)
    assert trial.evaluation.accuracy < 1
    write_report(folder / "r.html", model, trial, title="tiles", command="train tiles")
    return folder / "r.html"


@pytest.fixture
def visit(open_page, report):
    """Give ``visit(width, scheme)`` → the page."""

    def visit(width, scheme="light"):
        size = {"width": width, "height": 800}
        return open_page(report.as_uri(), viewport=size, color_scheme=scheme)

    return visit


@pytest.mark.parametrize("width", [1200, 360])
def test_the_page_fits_every_width_and_its_pictures_load(visit, width):
    page = visit(width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate("document.querySelectorAll('img').forEach(i => i.loading = 'eager')")
    page.evaluate("Promise.all([...document.images].map(i => i.decode().catch(() => 0)))")
    visible = "[...document.images].filter(i => i.offsetParent)"
    assert page.evaluate(f"{visible}.length") > 10
    assert page.evaluate(f"{visible}.every(i => i.naturalWidth > 1 && i.clientWidth > 1)")


def test_a_cell_of_the_matrix_opens_its_images_and_closes_again(visit):
    page = visit(1000)
    cell = page.locator(".confusion .wrong a").first
    panel = page.locator(cell.get_attribute("href"))
    assert not panel.is_visible()
    cell.click()
    assert panel.is_visible()
    assert panel.locator("img").count() == int(cell.inner_text())
    panel.locator(".close").click()
    assert not panel.is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_people_who_see_little_or_nothing_can_read_it(browser, report, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe")
    # The policy of the page would keep axe out, which is a script.
    context = browser.new_context(color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    page.goto(report.as_uri())
    found = axe.Axe().run(page).response["violations"]
    assert [(fault["id"], fault["nodes"][0]["html"][:200]) for fault in found] == []
    context.close()


def test_it_prints_without_navigation_and_panels(visit, tmp_path):
    page = visit(1000)
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible()
    assert page.locator(".panel:visible").count() == 0
    page.pdf(path=str(tmp_path / "r.pdf"))
    assert (tmp_path / "r.pdf").stat().st_size > 20_000
