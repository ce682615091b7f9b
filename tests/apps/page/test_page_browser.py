"""The page as people use it: a real browser, a real server and a real model."""

import csv
from pathlib import Path

import cv2
import numpy as np
import pytest

from tests.apps.page.conftest import drop, running
from tests.apps.page.test_answers import TwoPeople
from visualwords import ImageClassifier
from visualwords.apps.classify_images.demo_images import texture_tiles
from visualwords.apps.page.answers import DetectorAnswers
from visualwords.apps.page.limits import Limits
from visualwords.apps.page.served_models import ServedModels, served_models
from visualwords.apps.page.server import create_app
from visualwords.images import encode_image, read_image

pytestmark = pytest.mark.slow

READY = "#model-name:not(:empty)"
HOSTILE = '<img src=x onerror="document.title=1">'  # a class and a file may have any name


@pytest.fixture(scope="module")
def tiles():
    """Give training tiles of three classes, one of which has a hostile name."""
    images, labels = texture_tiles("train")
    names = {"brick": "brick", "grass": "grass", "gravel": HOSTILE}
    kept = [i for i, label in enumerate(labels) if label in names]
    return [images[i] for i in kept], [names[labels[i]] for i in kept]


@pytest.fixture(scope="module")
def address(tiles, tmp_path_factory):
    """Give the address of a page whose model distinguishes three textures."""
    path = tmp_path_factory.mktemp("model") / "tiles.vw"
    ImageClassifier("words", n_words=40, thumbnails=True).fit(*tiles).save(path)
    limits = Limits(max_bytes=2_000_000, max_pixels=1_000_000)
    app = create_app(
        served_models([str(path)], limits.max_pixels), limits=limits, report=b"the report"
    )
    with running(app, limits) as (host, port):
        yield f"http://{host}:{port}/"


@pytest.fixture(scope="module")
def picture(tiles):
    """Give a PNG with brick on its left and grass on its right."""
    images, labels = tiles
    halves = [np.vstack(images[labels.index(name) :][:2]) for name in ("brick", "grass")]
    mosaic = np.atleast_3d(np.hstack(halves))
    return encode_image(np.repeat(mosaic, 3, axis=2) if mosaic.shape[2] == 1 else mosaic)


@pytest.fixture
def explained(open_page, address, picture):
    """Give ``explained(data, name, **context)`` → a page with the evidence of an image."""

    def show(data=picture, name="image.png", **options):
        page = open_page(address, READY, **options)
        give(page, data, name)
        wait_for_evidence(page)
        return page

    return show


def give(page, data, name="image.png", event="drop"):
    drop(page, [(name, data)], "#intake", event)


def wait_for_evidence(page):
    page.wait_for_selector("#overlay-controls:not([hidden])")


def seen(page, selector="#frame"):
    """The pixels on the screen."""
    return read_image(page.locator(selector).screenshot()).astype(int)


@pytest.mark.parametrize("event", ["drop", "paste"])
def test_an_image_gets_its_label_with_reasons_and_the_live_region_says_it(
    open_page, address, picture, event
):
    page = open_page(address, READY)
    give(page, picture, "wall.png", event)
    wait_for_evidence(page)
    label = page.text_content("#answer")
    assert label in ("brick", "grass")
    assert page.text_content("#status").startswith(f"wall.png: {label}, ")
    assert page.text_content(".class .share").endswith("%")
    assert page.locator(".class").count() == 3
    assert page.locator("#similar-list img").count() == 6
    before = seen(page)
    page.focus(".word:has(canvas)")  # its places are marked
    assert np.abs(seen(page) - before).max() > 50


def test_slider_and_class_are_changed_by_keyboard_and_the_evidence_with_them(explained):
    page = explained()
    first, before = page.text_content("#legend-label"), seen(page)
    page.focus(".class input:checked")
    page.keyboard.press("ArrowDown")
    page.wait_for_function(
        "(old) => document.querySelector('#legend-label').innerText != old", arg=first
    )
    assert {first, page.text_content("#legend-label")} == {"brick", "grass"}
    after = seen(page)
    assert np.abs(after - before).mean() > 5
    # Evidence for one half is evidence against the other: red − blue changes its sign.
    warmth = [(image[:, :, 0] - image[:, :, 2]) for image in (before, after)]
    halves = np.array([[np.hsplit(w, [w.shape[1] // 2])[i].mean() for i in (0, 1)] for w in warmth])
    assert np.sign(halves[0, 0] - halves[0, 1]) == -np.sign(halves[1, 0] - halves[1, 1])
    page.focus("#opacity")
    page.keyboard.press("Home")
    assert page.text_content("#opacity-shown") == "0 %"
    bare = seen(page)
    page.keyboard.press("End")
    assert np.abs(seen(page) - bare).mean() > 10


UNUSABLE = {
    b"this is no image": "not an image",
    b"": "empty",
    b"x" * 2_500_000: "larger than 1 MB",
    encode_image(np.zeros((1200, 1200, 3), np.uint8)): "1,440,000",
}


def test_what_can_not_be_used_gets_a_friendly_sentence(open_page, address):
    for data, sentence in UNUSABLE.items():
        page = open_page(address, READY)
        give(page, data, "broken.png")
        page.wait_for_selector("#trouble:not([hidden])")
        assert sentence in page.text_content("#trouble")
        assert page.get_by_role("alert").is_visible()


def test_many_images_are_worked_through_and_saved_as_a_table_that_runs_nothing(
    open_page, address, picture
):
    page = open_page(address, READY)
    names = ["0.png", "=1+1.png", 'a "b".png', "3.png"]
    files = [{"name": name, "mimeType": "image/png", "buffer": picture} for name in names]
    files[2]["buffer"] = b"garbage"
    page.set_input_files("#files", files)
    page.wait_for_function("() => document.querySelector('#progress').innerText == '4 images'")
    page.wait_for_function(
        "() => [...document.querySelectorAll('.tile span')].every(s => s.innerText != '…')"
    )
    shown = page.locator(".tile span").all_text_contents()
    assert shown[2] == "can't be used"
    assert len(set(shown)) == 2
    with page.expect_download() as download:
        page.click("#save")
    rows = list(csv.reader(download.value.path().read_text(encoding="utf-8").splitlines()))
    assert rows[0] == ["image", "answer", "probability", "score"]
    assert [row[0] for row in rows[1:]] == ["0.png", "'=1+1.png", 'a "b".png', "3.png"]
    assert rows[1][1] in ("brick", "grass")
    page.click(".tile >> nth=2")
    page.wait_for_selector("#trouble:not([hidden])")
    page.click(".tile >> nth=3")
    wait_for_evidence(page)
    page.click("#clear")
    assert page.locator(".tile").count() == 0
    assert page.evaluate("document.activeElement.id") == "files"


def test_names_are_only_ever_text(explained):
    page = explained(name=HOSTILE)
    assert HOSTILE in page.text_content("#knows")
    assert page.text_content("#caption") == HOSTILE
    assert HOSTILE in page.locator(".class .name").all_text_contents()
    assert page.title() == "tiles · visualwords"
    assert page.locator("img[src=x]").count() == 0


def test_the_camera_takes_a_picture(open_page, address):
    page = open_page(address, READY, permissions=["camera"])
    page.click("#camera-open")
    page.wait_for_function("() => document.getElementById('viewfinder').videoWidth > 0")
    page.wait_for_selector("#live:not(:empty)")  # it predicts what it sees
    page.click("#shutter")
    wait_for_evidence(page)
    assert page.text_content("#caption") == "camera.jpg"


def test_formats_that_browsers_do_not_know_are_shown_too(explained, picture):
    pixels = read_image(picture)
    tiff = cv2.imencode(".tiff", pixels)[1].tobytes()
    page = explained(tiff, "first.tiff")
    assert page.evaluate("document.getElementById('photo').naturalWidth") == pixels.shape[1]
    give(page, tiff, "second.tiff")
    page.wait_for_function(
        "() => document.querySelectorAll('.tile img').length == 2"
        " && [...document.querySelectorAll('.tile img')].every((i) => i.naturalWidth)"
    )
    assert page.locator(".no-picture").count() == 0


def test_a_photograph_of_a_phone_is_shown_through_a_preview(explained):
    pytest.importorskip("pi_heif", reason="needs pi-heif")
    page = explained((Path(__file__).parent / "halves.heic").read_bytes(), "halves.heic")
    assert page.evaluate("document.getElementById('photo').naturalWidth") == 64


def test_everything_can_be_reached_by_keyboard_and_has_a_name(explained):
    page = explained()
    page.evaluate("document.activeElement.blur()")
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.name"))
    wanted = ["about-open", "report-link", "files", "camera-open", "clear", "opacity", "class"]
    assert [name for name in dict.fromkeys(reached) if name in wanted] == wanted
    unnamed = page.evaluate(
        """[...document.querySelectorAll("button, input, a, canvas[role], dialog")]
            .filter((e) => !(e.ariaLabel || e.textContent.trim() || e.labels?.length
                || e.ariaHidden === "true")).map((e) => e.outerHTML)"""
    )
    assert unnamed == []


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
def test_axe_finds_no_fault_and_nothing_scrolls_sideways(
    open_page, address, picture, scheme, width
):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    size = {"width": width, "height": 740}
    page = open_page(address, READY, color_scheme=scheme, viewport=size, reduced_motion="reduce")
    for data, name in ((None, ""), (picture, "a very long name " * 20), (picture, "2.png")):
        if data is not None:
            give(page, data, name)
            wait_for_evidence(page)
        assert axe.run(page).response["violations"] == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.click("#about-open")
    assert page.get_by_role("dialog").get_by_text("brick · 32").is_visible()
    assert axe.run(page).response["violations"] == []
    page.keyboard.press("Escape")
    assert not page.locator("#about").is_visible()
    paper = seen(page, "body")[2, 2].mean()
    assert (paper > 200) if scheme == "light" else (paper < 60)


WORDS = {"person": ["1 person", "2 people", "No people"], "mug": ["1 mug", "2 × mug", "No mug"]}


@pytest.mark.parametrize("label", WORDS)
def test_boxes_of_a_detector_are_drawn_and_can_be_filtered(label, open_page, picture):
    limits = Limits()
    detector = TwoPeople(label=label)
    app = create_app(
        ServedModels({"found": DetectorAnswers(detector, "found", limits.max_pixels)}),
        limits=limits,
    )
    with running(app, limits) as (host, port):
        page = open_page(f"http://{host}:{port}/", READY)
        give(page, picture)
        page.wait_for_selector("#box-controls:not([hidden])")
        assert page.text_content("#answer") == WORDS[label][0]
        assert f"{label} 1" in page.text_content("#box-list")
        assert ("people who stand" in page.text_content("#knows")) == (label == "person")
        one = seen(page)
        page.focus("#threshold")
        page.keyboard.press("Home")
        assert page.text_content("#answer") == WORDS[label][1]
        assert page.locator("#box-list li").count() == 2
        assert np.abs(seen(page) - one).max() > 50
        page.keyboard.press("End")
        assert page.text_content("#answer") == WORDS[label][2]
