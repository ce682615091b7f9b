"""A server under all attacks at once: bounded memory, and honest requests are answered.

Five minutes with ``VISUALWORDS_LONG_TESTS=1``, some seconds without.
"""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import numpy as np
import pytest
from PIL import Image

from tests.conftest import ROOT
from tests.faults.commands import COMMAND
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


def processes_of(pid):
    """Return a process and those that it, or they, have started."""
    found = [pid]
    for one in found:
        try:
            for task in os.listdir(f"/proc/{one}/task"):
                with open(f"/proc/{one}/task/{task}/children") as file:
                    found += [int(child) for child in file.read().split()]
        except OSError:  # it has ended
            continue
    return found


def memory_of(pid):
    """Return the bytes of a process and those it has started; what they share counts once."""
    total = 0
    for one in processes_of(pid):
        try:
            with open(f"/proc/{one}/smaps_rollup") as file:
                total += 1024 * int(re.search(r"Pss:\s+(\d+)", file.read())[1])
        except (OSError, TypeError):  # it has ended
            continue
    return total


@contextmanager
def attacked(port, files, folder):
    """Attack while the block runs; give a dict that has the statuses of all answers then."""
    for name, content in files.items():
        (folder / name).write_bytes(content)
    command = [sys.executable, "-m", "tests.faults.attackers", str(port), str(folder)]
    attackers = subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    statuses = {}
    try:
        yield statuses
    finally:
        printed, _ = attackers.communicate("", timeout=120)
    statuses.update({int(status): count for status, count in json.loads(printed).items()})


def test_honest_requests_are_answered_under_all_attacks_at_once(
    server, files, model, tmp_path_factory
):
    port, process = server
    honest = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60, trust_env=False)
    expected = honest.post("/api/predict", content=files["honest"]).json()["label"]
    with ThreadPoolExecutor(8) as clients:  # idle: all workers run,
        answers = clients.map(
            lambda _: honest.post("/api/predict", content=files["honest"]), range(8)
        )
    assert {answer.status_code for answer in answers} == {200}
    for name in ("large png", "slow format"):  # and all that is loaded once is loaded
        honest.post("/api/predict", content=files[name])
    idle = memory_of(process.pid)
    most, slowest = idle, 0.0
    with attacked(port, files, tmp_path_factory.mktemp("sent")) as statuses:
        end = time.monotonic() + SECONDS
        replaced = False
        while time.monotonic() < end:
            begin = time.monotonic()
            answer = honest.post("/api/predict", content=files["honest"], timeout=HONEST_SECONDS)
            slowest = max(slowest, time.monotonic() - begin)
            assert answer.status_code == 200, answer.text
            assert answer.json()["label"] == expected
            most = max(most, memory_of(process.pid))
            if not replaced:  # the model in memory goes on to answer
                model.write_bytes(b"another model")
                replaced = True
            time.sleep(0.05)
    honest.close()
    time.sleep(1)
    after = memory_of(process.pid)
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
