"""The page of an exported model in a browser, with a runtime that records what it is given."""

import functools
import http.server
import shutil
import threading

import cv2
import numpy as np
import pytest

from visualwords.apps.export.exporting import web_page

pytestmark = pytest.mark.slow

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("needs Chromium: apt-get install chromium", allow_module_level=True)
sync_api = pytest.importorskip("playwright.sync_api")

SWITCHES = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
SWITCHES += ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]
RUNTIME = """
window.given = [];
window.ort = {
  env: { wasm: {} },
  Tensor: class { constructor(type, data, dims) { Object.assign(this, { type, data, dims }); } },
  InferenceSession: { create: async (name) => ({ run: async ({ image }) => {
    const first = Array.from(image.data.slice(0, 3));
    given.push({ name, type: image.type, dims: image.dims, first });
    return { label: { data: ["<b>dog"] }, probabilities: { data: [0.25, 0.75] } };
  } }) },
};
"""


@pytest.fixture
def address(tmp_path):
    """The address of a folder with the page, a runtime and an image."""
    (tmp_path / "photos.html").write_bytes(web_page("photos.onnx", ["cat", "<b>dog"]))
    (tmp_path / "ort").mkdir()
    (tmp_path / "ort" / "ort.wasm.min.js").write_text(RUNTIME)
    cv2.imencode(".png", np.full((30, 40, 3), (7, 8, 9), np.uint8))[1].tofile(tmp_path / "a.png")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=tmp_path)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/photos.html"
        server.shutdown()


def test_files_and_the_camera_are_given_to_the_model_as_red_green_and_blue(address, tmp_path):
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=SWITCHES)
        page = browser.new_page()
        faults = []
        page.on("pageerror", lambda fault: faults.append(str(fault)))
        page.goto(address)
        sync_api.expect(page.get_by_role("status")).to_have_text("Ready.")
        page.set_input_files("#file", tmp_path / "a.png")
        sync_api.expect(page.get_by_role("status")).to_have_text("<b>dog")
        sync_api.expect(page.locator("tr").first).to_contain_text("0.750")
        (given,) = page.evaluate("given")
        assert given == {
            "name": "photos.onnx",
            "type": "uint8",
            "dims": [1, 30, 40, 3],
            "first": [9, 8, 7],
        }
        page.get_by_role("button", name="Use the camera").click()
        page.wait_for_function("given.length > 3")
        page.get_by_role("button", name="Stop the camera").click()
        assert page.evaluate("given.at(-1).dims[3]") == 3
        browser.close()
        assert faults == []
