"""A model that answers at once, a trained one, and servers of them on ports of their own."""

import base64
import socket
import threading
import time
from contextlib import ExitStack, contextmanager

import httpx
import numpy as np
import pytest

from tests.apps.conftest import COLORS, noisy
from visualwords import ImageClassifier
from visualwords.apps.page.limits import Limits
from visualwords.apps.page.served_models import ServedModels
from visualwords.apps.page.server import create_app
from visualwords.apps.page.serving import listen, serve
from visualwords.errors import CrashedDecoderError, DamagedImageError


class Echo:
    """Answers with the length of what it got; some inputs make it fail or wait."""

    def __init__(self):
        self.go_on = threading.Event()  # what "wait" waits for
        self.n_begun = 0

    def about(self):
        return {"kind": "classifier", "name": "echo", "classes": [], "facts": []}

    def predict(self, data, question):
        if data == b"fault":
            raise ZeroDivisionError("a fault of ours")
        if data == b"crash":
            raise CrashedDecoderError("damaged file (its decoder crashed)")
        if data == b"damaged":
            raise DamagedImageError("the file ends too early")
        self.n_begun += 1
        if data == b"wait":
            self.go_on.wait(20)
        return {"length": len(data), "top": question.top}

    def explain(self, data, top, label):
        return {"label": label}


@contextmanager
def running(app, limits):
    """Run a server in a thread; give the address it listens on."""
    servers = []
    with listen("127.0.0.1", 0) as listener:
        address = listener.getsockname()
        thread = threading.Thread(target=serve, args=(app, listener, limits, servers.append))
        thread.start()
        try:
            while not (servers and servers[0].started):
                time.sleep(0.01)
            yield address
        finally:
            servers[0].should_exit = True
            thread.join(10)


@pytest.fixture(scope="package")
def server():
    """Give ``start(answers, **limits)`` → address of a server of `Echo`; equal ones are shared."""
    with ExitStack() as stack:
        known = {}

        def start(answers=None, models=None, report=None, key=None, **changes):
            settings = (report, key, *sorted(changes.items()))
            if answers is models is None and settings in known:
                return known[settings]
            limits = Limits(**changes)
            served = models or ServedModels({"echo": answers or Echo()})
            app = create_app(served, limits=limits, report=report, key=key)
            address = stack.enter_context(running(app, limits))
            if answers is models is None:
                known[settings] = address
            return address

        yield start


@pytest.fixture(scope="package")
def model(tmp_path_factory):
    """Give the file of a model of visual words with thumbnails."""
    rng = np.random.default_rng(2)
    images = [noisy(color, rng) for color in COLORS.values() for _ in range(8)]
    labels = [name for name in COLORS for _ in range(8)]
    path = tmp_path_factory.mktemp("model") / "coast.vw"
    ImageClassifier("words", n_words=20, thumbnails=True).fit(images, labels).save(path)
    return path


KEEP_NONE = httpx.Limits(max_keepalive_connections=0)
CLIENT = httpx.Client(timeout=20, verify=False, trust_env=False, limits=KEEP_NONE)


def post(address, body, path="/api/predict", **options):
    return CLIENT.post(f"http://127.0.0.1:{address[1]}{path}", content=body, **options)


def get(address, path="/", **options):
    return CLIENT.get(f"http://127.0.0.1:{address[1]}{path}", **options)


def connect(address):
    return socket.create_connection(address, timeout=10)


def drop(page, files, selector, event="drop"):
    """Drop or paste files, (name, bytes) each, on an element of a page in a browser."""
    page.evaluate(
        """([files, selector, kind]) => {
            const given = new DataTransfer();
            for (const [name, data] of files) {
                const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
                given.items.add(new File([bytes], name, { type: "image/png" }));
            }
            document.querySelector(selector).dispatchEvent(kind === "drop"
                ? new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: given })
                : new ClipboardEvent("paste", { bubbles: true, clipboardData: given }));
        }""",
        [[[name, base64.b64encode(data).decode()] for name, data in files], selector, event],
    )
