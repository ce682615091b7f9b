"""A server under all attacks at once: bounded memory, and honest requests are answered.

Five minutes with ``VISUALWORDS_LONG_TESTS=1``, some seconds without.
"""

import io
import multiprocessing
import os
import re
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import numpy as np
import pytest
from PIL import Image

from tests.faults import commands
from tests.faults.attackers import attack
from tests.faults.conftest import IS_LONG

pytestmark = [
    pytest.mark.posix,
    pytest.mark.skipif(not os.path.exists("/proc/self/smaps_rollup"), reason="needs Linux"),
]
SECONDS = 300.0 if IS_LONG else 3.0
SIDE = 8000 if IS_LONG else 4200  # of large images: 64 megapixels, or just large
HONEST_SECONDS = 2.0 if IS_LONG else 60.0  # for an answer
MEMORY = 800 << 20  # bytes of the server, its workers and their decoders


def encoded(size, form, color="grey", **options):
    buffer = io.BytesIO()
    Image.new("RGB", size, color).save(buffer, form, **options)
    return buffer.getvalue()


def harmful(photo):
    """Return what attackers send, some of it from the bytes of a photo."""
    scans = encoded((3000, 3000), "JPEG", progressive=True)
    last, end = scans.rfind(b"\xff\xda"), scans.rfind(b"\xff\xd9")
    noise = np.random.default_rng(0).integers(0, 256, (600, 600, 3), dtype=np.uint8)
    jpeg2000 = io.BytesIO()
    Image.fromarray(noise).save(jpeg2000, "JPEG2000")
    return {
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
        [*commands.COMMAND, "serve", str(model), "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    port = int(re.search(r":(\d+)/", process.stdout.readline())[1])
    yield port, process
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)


def memory_of(pid):
    """The bytes of a process and those it has started; what they share counts once."""
    total, found = 0, [str(pid)]
    for one in found:
        with suppress(OSError, TypeError):  # it has ended
            rollup = Path(f"/proc/{one}/smaps_rollup").read_text()
            total += 1024 * int(re.search(r"Pss:\s+(\d+)", rollup)[1])
            for task in Path(f"/proc/{one}/task").iterdir():
                found += (task / "children").read_text().split()
    return total


@contextmanager
def attacked(port, files):
    """Attack while the block runs; give a dict that has the statuses of all answers then."""
    ours, theirs = multiprocessing.Pipe()
    attackers = commands.server.Process(target=attack, args=(port, files, theirs))
    attackers.start()
    statuses = {}
    try:
        yield statuses
    finally:
        ours.send("enough")
        statuses.update(ours.recv() if ours.poll(120) else {})
        attackers.join()


def test_honest_requests_are_answered_under_all_attacks_at_once(server, model, photos):
    port, process = server
    photo = (photos / "sea" / "0.png").read_bytes()
    files = harmful(photo)
    honest = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60, trust_env=False)

    def predict(content=photo):
        return honest.post("/api/predict", content=content, timeout=HONEST_SECONDS)

    expected = predict().json()["label"]
    with ThreadPoolExecutor(8) as clients:  # idle: all workers run,
        answers = list(clients.map(predict, [photo] * 8))
    assert {answer.status_code for answer in answers} == {200}
    with attacked(port, files):  # and all that is loaded once is loaded
        time.sleep(SECONDS / 2)
    time.sleep(1)
    idle = memory_of(process.pid)
    most, slowest = idle, 0.0
    with attacked(port, files) as statuses:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            begin = time.monotonic()
            answer = predict()
            slowest = max(slowest, time.monotonic() - begin)
            assert answer.status_code == 200, answer.text
            assert answer.json()["label"] == expected
            most = max(most, memory_of(process.pid))
            model.write_bytes(b"another model")  # the one in memory goes on to answer
            time.sleep(0.05)
    honest.close()
    for _ in range(20):  # what is freed when processes have ended
        time.sleep(0.5)
        after = memory_of(process.pid)
        if after <= 1.2 * idle:
            break
    print(
        f"idle {idle >> 20} MB, most {most >> 20} MB, after {after >> 20} MB, "
        f"slowest honest answer {slowest:.2f} s, "
        f"statuses {statuses}"
    )
    assert process.poll() is None
    assert most <= MEMORY
    assert after <= 1.2 * idle
    assert set(statuses) <= {200, 400, 408, 413, 422, 429, 503}
    assert 503 in statuses  # of twenty large images some are refused at once
