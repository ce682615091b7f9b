"""A server under all attacks at once: bounded memory, and honest requests are answered.

Five minutes with ``VISUALWORDS_LONG_TESTS=1``, some seconds without. Attackers have addresses of
their own (127.0.0.2, …), as limits are for each client.
"""

import io
import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import pytest
from PIL import Image

from tests.faults.commands import COMMAND
from tests.faults.conftest import IS_LONG

pytestmark = [
    pytest.mark.posix,
    pytest.mark.skipif(not os.path.exists("/proc/self/smaps_rollup"), reason="needs Linux"),
]
SECONDS = 300.0 if IS_LONG else 3.0
SIDE = 8000 if IS_LONG else 4200  # of large images: 64 megapixels, or just large
HONEST_SECONDS = 2.0 if IS_LONG else 60.0  # for an answer
MEMORY = 800 << 20  # bytes of the server and its decoders
HEAD = b"POST /api/predict HTTP/1.1\r\nHost: localhost\r\n"


def encoded(size, form, color="grey", **options):
    buffer = io.BytesIO()
    Image.new("RGB", size, color).save(buffer, form, **options)
    return buffer.getvalue()


@pytest.fixture(scope="module")
def files(photos):
    """Give what is sent: an honest image and those of attackers."""
    photo = next(iter((photos / "sea").iterdir())).read_bytes()
    scans = encoded((3000, 3000), "JPEG", progressive=True)
    last, end = scans.rfind(b"\xff\xda"), scans.rfind(b"\xff\xd9")
    noise = np.random.default_rng(0).integers(0, 256, (600, 600, 3), dtype=np.uint8)
    jpeg2000 = io.BytesIO()
    Image.fromarray(noise).save(jpeg2000, "JPEG2000")
    return {
        "honest": photo,
        "large jpeg": encoded((SIDE, SIDE), "JPEG"),
        "large png": encoded((SIDE, SIDE), "PNG", compress_level=1),
        "scans": scans[:last] + scans[last:end] * 3000 + scans[end:],
        "some scans": scans[:last] + scans[last:end] * 150 + scans[end:],
        "slow format": jpeg2000.getvalue(),
        "damaged": photo[: len(photo) // 2],
    }


@pytest.fixture
def server(model):
    """Give a server in a process of its own: its port and its process."""
    process = subprocess.Popen(
        [*COMMAND, "serve", str(model), "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    port = int(re.search(r":(\d+)/", process.stdout.readline())[1])
    yield port, process
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)


def memory_of(pid):
    """Return the bytes of a process and its children; what they share counts once."""
    pids = [pid]
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children") as file:
            pids += [int(child) for child in file.read().split()]
    total = 0
    for one in pids:
        try:
            with open(f"/proc/{one}/smaps_rollup") as file:
                total += 1024 * int(re.search(r"Pss:\s+(\d+)", file.read())[1])
        except (OSError, TypeError):  # it has ended
            continue
    return total


class Attack:
    """Attacks on one port until it is told to stop; each kind in threads of its own."""

    def __init__(self, port, files):
        self.port, self.files = port, files
        self.stop = threading.Event()
        self.statuses = []

    def run(self, number, work):
        while not self.stop.is_set():
            try:
                work(f"127.0.0.{2 + number}")
            except (OSError, httpx.HTTPError):
                time.sleep(0.01)

    def post(self, source, body):
        transport = httpx.HTTPTransport(local_address=source)
        with httpx.Client(transport=transport, timeout=60, trust_env=False) as client:
            answer = client.post(f"http://127.0.0.1:{self.port}/api/predict", content=body)
            self.statuses.append(answer.status_code)

    def connect(self, source):
        return socket.create_connection(("127.0.0.1", self.port), 10, (source, 0))

    def send_nonsense(self, source):
        for sent in (
            b"\x00\xff\r\n\r\n",
            HEAD + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            HEAD + b"Origin: http://a\r\nOrigin: http://b\r\nContent-Length: 0\r\n\r\n",
            HEAD + b"Host: localhost\r\n\r\n",
        ):
            with self.connect(source) as client:
                client.sendall(sent)
                client.recv(4096)

    def take_connections(self, source):
        held = []
        try:
            for _ in range(200):
                held.append(self.connect(source))
            held[0].sendall(HEAD)
            time.sleep(0.5)
        finally:
            for client in held:
                client.close()

    def upload_slowly(self, source):
        with self.connect(source) as client:
            client.sendall(HEAD + b"Content-Length: 30000000\r\n\r\n" + bytes(1 << 20))
            self.stop.wait(1)

    def works(self):
        """Return one function of an address for every thread."""
        for name in ("large jpeg", "large png"):
            yield from [lambda source, name=name: self.post(source, self.files[name])] * 10
        for name in ("scans", "some scans", "slow format", "damaged"):
            yield lambda source, name=name: self.post(source, self.files[name])
        yield from (self.send_nonsense, self.take_connections, self.upload_slowly)


def test_honest_requests_are_answered_under_all_attacks_at_once(server, files, model):
    port, process = server
    honest = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60, trust_env=False)
    expected = honest.post("/api/predict", content=files["honest"]).json()["label"]
    for name in ("large png", "slow format"):  # idle: all that is loaded once is loaded
        honest.post("/api/predict", content=files[name])
    idle = memory_of(process.pid)
    most, slowest = idle, 0.0
    attack = Attack(port, files)
    works = list(attack.works())
    with ThreadPoolExecutor(len(works)) as threads:
        for number, work in enumerate(works):
            threads.submit(attack.run, number, work)
        try:
            end = time.monotonic() + SECONDS
            replaced = False
            while time.monotonic() < end:
                begin = time.monotonic()
                answer = honest.post(
                    "/api/predict", content=files["honest"], timeout=HONEST_SECONDS
                )
                slowest = max(slowest, time.monotonic() - begin)
                assert answer.status_code == 200, answer.text
                assert answer.json()["label"] == expected
                most = max(most, memory_of(process.pid))
                if not replaced:  # the model in memory goes on to answer
                    model.write_bytes(b"another model")
                    replaced = True
                time.sleep(0.05)
        finally:
            attack.stop.set()
    honest.close()
    time.sleep(1)
    after = memory_of(process.pid)
    print(
        f"idle {idle >> 20} MB, most {most >> 20} MB, after {after >> 20} MB, "
        f"slowest honest answer {slowest:.2f} s, "
        f"statuses {Counter(attack.statuses)}"
    )
    assert process.poll() is None
    assert most <= MEMORY
    assert after <= 1.2 * idle
    assert set(attack.statuses) <= {200, 400, 408, 413, 422, 429, 503}
    assert 503 in attack.statuses  # of twenty large images some are refused at once
