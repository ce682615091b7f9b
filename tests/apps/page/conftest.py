"""A model that answers at once, and a server of it on a port of its own."""

import socket
import threading
import time
from contextlib import contextmanager

import httpx
import pytest

from visualwords.apps.page.limits import Limits
from visualwords.apps.page.openapi import SCHEMAS
from visualwords.apps.page.served_models import ServedModels
from visualwords.apps.page.server import create_app
from visualwords.apps.page.serving import listen, serve
from visualwords.errors import DamagedImageError


class Echo:
    """Answers with the length of what it got; some inputs make it fail or wait."""

    def __init__(self):
        self.go_on = threading.Event()  # what "wait" waits for
        self.n_begun = 0

    def about(self):
        return {"kind": "classifier", "name": "echo", "classes": [], "facts": []}

    def predict(self, data, question):
        if data == b"crash":
            raise ZeroDivisionError("a fault of ours")
        if data == b"damaged":
            raise DamagedImageError("the file ends too early")
        self.n_begun += 1
        if data == b"wait":
            self.go_on.wait(20)
        return {"length": len(data), "top": question.top}

    def explain(self, data, top, label):
        return {"label": label}

    def preview(self, data):
        return b"\xff\xd8"


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


@pytest.fixture
def server():
    """Give ``start(report, **limits)`` → address of a running server of `Echo`."""
    stack = []

    def start(report=None, answers=None, models=None, key=None, **changes):
        limits = Limits(**changes)
        app = create_app(
            models or ServedModels({"echo": answers or Echo()}),
            limits=limits,
            report=report,
            key=key,
        )
        context = running(app, limits)
        stack.append(context)
        return context.__enter__()

    yield start
    for context in stack:
        context.__exit__(None, None, None)


def matches(schema, value):
    """Check a value against the part of JSON Schema that the API's description uses."""
    if "$ref" in schema:
        return matches(SCHEMAS[schema["$ref"].split("/")[-1]], value)
    if "enum" in schema:
        return value in schema["enum"]
    kinds = {"string": str, "boolean": bool, "integer": int, "number": (int, float)}
    kinds |= {"null": type(None), "object": dict, "array": list}
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(isinstance(value, kinds[name]) for name in types):
        return False
    if isinstance(value, list):
        return all(matches(schema["items"], item) for item in value)
    if isinstance(value, dict):
        known = schema["properties"]
        return all(key in known and matches(known[key], item) for key, item in value.items())
    return True


KEEP_NONE = httpx.Limits(max_keepalive_connections=0)
CLIENT = httpx.Client(timeout=20, verify=False, trust_env=False, limits=KEEP_NONE)


def post(address, body, path="/api/predict", **options):
    return CLIENT.post(f"http://127.0.0.1:{address[1]}{path}", content=body, **options)


def get(address, path="/"):
    return CLIENT.get(f"http://127.0.0.1:{address[1]}{path}")


def connect(address):
    return socket.create_connection(address, timeout=10)
