"""The studio as people use it: a real browser, a real server and processes that train."""

import re
import signal
import subprocess
import sys

import numpy as np
import pytest

from tests.apps.conftest import COLORS, noisy
from tests.apps.page.conftest import drop
from visualwords import load
from visualwords.images import encode_image, read_image

pytestmark = pytest.mark.slow

LONG = "Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz"
COMMAND = [sys.executable, "-m", "visualwords.apps.classify_images"]
PATIENCE = 240_000  # milliseconds; other tests may have the processor
# In one step: a model that is ready meanwhile may bring another question to the screen.
ANSWER = """([label, key]) => {
    const title = document.querySelector("#pictures img").alt;
    const isWrong = title.includes(`labelled ${label}`) && parseInt(title) >= 20;
    const pressed = { key: isWrong ? key : "Enter", bubbles: true, cancelable: true };
    document.body.dispatchEvent(new KeyboardEvent("keydown", pressed));
}"""
TESTED = "(n) => document.getElementById('learner-words').textContent.includes(`of ${n}`)"


class Server:
    """The command, on a port that it keeps when it is started again."""

    def __init__(self, root):
        self.root, self.port = root, 0
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [*COMMAND, "studio", self.root, "--port", str(self.port), "--jobs", "2"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        self.address = self.process.stdout.readline().strip()
        self.port = int(re.search(r":(\d+)/", self.address)[1])

    def stop(self, how=signal.SIGINT):
        self.process.send_signal(how)
        self.process.wait(120)
        self.process.stdout.close()


@pytest.fixture
def server(tmp_path):
    started = Server(tmp_path / "photos")
    yield started
    if started.process.poll() is None:
        started.stop()


@pytest.fixture
def visit(open_page, server):
    """Give ``visit(**context)`` → the studio's page."""
    killed = ("ERR_CONNECTION", "ERR_EMPTY_RESPONSE", "ERR_INCOMPLETE", "ERR_CONTENT_LENGTH")

    def visit(**options):
        ready = "#folder:not(:empty)"
        return open_page(server.address, ready, PATIENCE, expect=killed, **options)

    return visit


def wait_for_text(page, selector, text):
    page.wait_for_function(
        "([s, text]) => document.querySelector(s).textContent.includes(text)", arg=[selector, text]
    )


def make_class(page, name, files):
    page.fill("#new-name", name)
    page.press("#new-name", "Enter")
    wait_for_text(page, "#chosen-name", name)
    drop(page, files, "#view-classes .work")
    page.wait_for_function(
        "(n) => document.getElementById('chosen-count').textContent.startsWith(`${n} image`)",
        arg=len(files),
    )


def photographs(n):
    """Class → (name, bytes) of generated photographs."""
    return {
        label: [
            (f"{i}.png", encode_image(noisy(color, np.random.default_rng([k, i]), (96, 128))))
            for i in range(n)
        ]
        for k, (label, color) in enumerate(COLORS.items())
    }


def wait_until_idle(page, server):
    """Wait until nothing has been trained for three seconds."""
    idle = 0
    for _ in range(1200):
        status = page.request.get(f"{server.address}studio/status").json()
        is_on = any(one["on"] for one in status["training"].values())
        idle = 0 if is_on else idle + 1
        if idle == 15:
            return
        page.wait_for_timeout(200)
    raise AssertionError(f"still training: {status['training']}")


def test_a_persons_path_from_dropped_photographs_to_a_downloaded_model(visit, server, tmp_path):
    page = visit(viewport={"width": 1280, "height": 800})
    photos = photographs(20)
    names = list(photos)
    given = {name: list(files) for name, files in photos.items()}
    wrong = given[names[0]][:3]  # three photographs with a wrong label
    given[names[0]], given[names[1]] = given[names[0]][3:], [*given[names[1]], *wrong]
    given[names[1]] = [(f"{i:02d}-{name}", data) for i, (name, data) in enumerate(given[names[1]])]
    for name, files in given.items():
        make_class(page, name, files)
    page.wait_for_function(TESTED, arg=60)

    page.click("#to-model")
    page.click("#train-here")
    page.wait_for_selector("#cancel:not([hidden])")
    wait_for_text(page, "#learner-words", "Comparing recipes for")
    page.wait_for_selector("#log:not([hidden])")
    assert not page.locator("#notes").is_visible()  # for those who open it
    page.click("#cancel")
    page.wait_for_selector("#train:not([hidden])")

    page.click("#to-review")
    key = str(1 + sorted(names).index(names[0]))
    for _ in range(40):
        if page.locator("#review-card").is_hidden():
            break
        page.evaluate(ANSWER, [names[1], key])  # to the right class, or the label is right
        page.wait_for_timeout(100)
    page.click("#to-classes")
    page.click(f"[data-class='{names[1]}']")
    wait_for_text(page, "#chosen-name", names[1])
    wait_until_idle(page, server)  # every correction trains a quick model
    for number in (20, 21, 22):  # what the model did not ask about
        missed = page.locator(f".cell[title^='{number}-']")
        if missed.count():
            missed.click()
    if page.locator("#selection").is_visible():
        page.select_option("#move-to", names[0])
    wait_for_text(page, "#chosen-count", "20 images")
    wait_until_idle(page, server)
    root = server.root
    assert len(list((root / names[0]).iterdir())) == len(list((root / names[1]).iterdir())) == 20

    page.click("#to-model")
    models = page.request.get(f"{server.address}studio/status").json()["models"]
    of_all = [str(one["number"]) for one in models if one["tested"] == 60]
    assert len(of_all) > 1
    assert of_all[-1] == str(models[-1]["number"])
    page.wait_for_function(
        "(newest) => document.getElementById('second').value === newest", arg=of_all[-1]
    )
    page.select_option("#first", of_all[0])  # not one that was trained while images still came
    page.wait_for_function(
        "() => document.getElementById('changed-words').textContent"
        ".includes('of 60 images that both were tested on')"
    )
    assert "McNemar" in page.text_content("#changed-more")
    with page.expect_download() as download:
        page.click("#download")
    download.value.save_as(tmp_path / "taken.vw")
    page.goto(f"{server.address}page")
    page.wait_for_selector("#model-name:not(:empty)")
    name, data = photos[names[0]][1]
    page.set_input_files("#files", {"name": name, "mimeType": "image/png", "buffer": data})
    wait_for_text(page, "#answer", names[0])
    wait_for_text(page, "#word-list", "colour")  # a reason that a person sees
    assert str(load(tmp_path / "taken.vw").predict([data])[0]) == names[0]


def test_a_better_model_answers_while_it_is_tested_and_shows_its_report(visit, server):
    page = visit()
    for name, files in photographs(3).items():
        make_class(page, name, files)
    page.wait_for_function(TESTED, arg=9)
    page.click("#train")
    wait_for_text(page, "#learner-words", "The new model is ready")
    status = page.request.get(f"{server.address}studio/status").json()
    assert status["answering"] == ["better"]
    page.click("#to-model")
    page.wait_for_selector("#report-card:not([hidden])")
    report = page.frame_locator("#report")
    report.get_by_text("How to reproduce it").first.wait_for()
    page.wait_for_selector("#download-report:not([hidden])")
    assert "Better model" in page.text_content("#learner-words")


def test_everything_is_undone_and_two_tabs_show_the_same(visit, server):
    page, other = visit(), visit()
    files = photographs(4)
    make_class(page, "sea", files["sea"])
    make_class(page, "sand", files["sand"])
    page.focus("#grid")
    for key in ("ArrowRight", " ", "End", " "):  # chosen by keyboard
        page.keyboard.press(key)
    assert page.text_content("#selected-count") == "2 selected"
    assert page.get_attribute("#grid", "aria-activedescendant").startswith("cell-")
    page.keyboard.press("Delete")
    wait_for_text(page, "#chosen-count", "2 images")
    page.keyboard.press("Control+z")
    wait_for_text(page, "#chosen-count", "4 images")
    page.keyboard.press("Control+Shift+z")
    wait_for_text(page, "#chosen-count", "2 images")
    page.keyboard.press("Control+z")
    wait_for_text(page, "#chosen-count", "4 images")
    page.click(".cell >> nth=0")
    page.click(".cell >> nth=1")
    page.select_option("#move-to", "sea")
    is_moved = "() => document.getElementById('chosen-count').textContent === '2 images'"
    page.wait_for_function(is_moved)
    other.wait_for_function(
        "() => [...document.querySelectorAll('.number')].map((n) => n.innerText).join() === '8,2,6'"
    )
    other.keyboard.press("Control+z")
    wait_for_text(page, "#chosen-count", "4 images")
    page.click("#rename")
    page.fill("#ask-value", LONG)
    page.click("#ask-ok")
    wait_for_text(page, "#chosen-name", LONG)
    assert (server.root / LONG).is_dir()
    page.click("#delete-class")
    other.wait_for_function("() => document.querySelectorAll('.class-row').length === 1")
    page.click("#undo")
    other.wait_for_function("() => document.querySelectorAll('.class-row').length === 3")


def test_a_killed_server_loses_nothing_and_gets_what_waits(visit, server):
    page = visit()
    files = photographs(6)
    make_class(page, "sea", files["sea"])
    server.stop(signal.SIGKILL)
    page.wait_for_selector("#offline:not([hidden])")
    drop(page, files["sand"], "#view-classes .work")
    server.start()
    wait_for_text(page, "#chosen-count", "12 images")
    assert page.locator("#offline").is_hidden()
    assert len(list((server.root / "sea").iterdir())) == 12


def test_the_camera_shoots_while_its_button_is_held(visit, server):
    page = visit(permissions=["camera"])
    page.click("#camera-open")
    page.wait_for_function("() => document.getElementById('viewfinder').videoWidth > 0")
    box = page.locator("#shutter").bounding_box()
    page.mouse.move(box["x"] + 20, box["y"] + 10)
    page.mouse.down()
    page.wait_for_function("() => parseInt(document.getElementById('shots').textContent) >= 3")
    page.mouse.up()
    taken = int(page.text_content("#shots").split()[0])
    page.click("#camera-close")
    page.wait_for_function(
        "(n) => document.getElementById('chosen-count').textContent.startsWith(`${n} image`)",
        arg=taken,
    )
    pictures = list((server.root / "Class 1").iterdir())
    assert len(pictures) == taken
    assert max(read_image(pictures[0]).shape) <= 640


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
def test_axe_finds_no_fault_and_nothing_scrolls_sideways(visit, server, scheme, width):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    size = {"width": width, "height": 800}
    page = visit(color_scheme=scheme, viewport=size, reduced_motion="reduce")
    assert axe.run(page).response["violations"] == []
    files = photographs(3)
    for name, label in zip(files, (LONG, '<img src=x onerror="alert(1)">', "sea")):
        if "<" in label:  # the page would refuse it; a folder may have it
            (server.root / label).mkdir()
            for file, data in files[name]:
                (server.root / label / file).write_bytes(data)
        else:
            make_class(page, label, files[name])
    page.wait_for_function(TESTED, arg=9)
    for view in ("classes", "review", "model"):
        page.click(f"#to-{view}")
        page.wait_for_timeout(500)
        assert axe.run(page).response["violations"] == [], view
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), view
    page.click("#to-classes")
    page.click(".cell >> nth=0")
    page.click("#look")
    page.wait_for_function(
        "() => document.getElementById('viewer-words').textContent.includes('model')"
    )
    assert axe.run(page).response["violations"] == []
