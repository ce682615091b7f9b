"""classify-images serve as people run it."""

import signal
import subprocess
import sys

import httpx
import pytest

from tests.apps.conftest import noisy
from visualwords import ImageClassifier
from visualwords.apps.classify_images.main import main

COMMAND = [sys.executable, "-m", "visualwords.apps.classify_images", "serve"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    import numpy as np

    rng = np.random.default_rng(0)
    images = [noisy(color, rng) for color in ((30, 80, 190), (210, 180, 110)) for _ in range(3)]
    path = tmp_path_factory.mktemp("model") / "beach.vw"
    ImageClassifier("color").fit(images, ["sea"] * 3 + ["<b>sand</b>"] * 3).save(path)
    path.with_suffix(".html").write_text("<!doctype html>the report")
    return path


def test_serves_until_interrupted_and_finds_the_report_beside_the_model(model):
    process = subprocess.Popen(
        [*COMMAND, model, "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")
        about = httpx.get(f"{address}api/model", timeout=60).json()
        assert (about["name"], about["report"]) == ("beach", True)
        assert "the report" in httpx.get(f"{address}report", timeout=60).text
    finally:
        process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert "warning" not in errors


def test_warns_beyond_loopback(model):
    process = subprocess.Popen(
        [*COMMAND, model, "--port", "0", "--host", "0.0.0.0", "--allow-host", "box.lan"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        address = process.stdout.readline().strip()
        for host, status in (("box.lan", 200), ("192.0.2.7", 200), ("evil.example", 403)):
            answer = httpx.get(address, headers={"Host": host}, timeout=60)
            assert answer.status_code == status
    finally:
        process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert "no password" in errors


def test_a_port_in_use_a_bad_model_and_a_missing_report_end_with_a_sentence(
    model, tmp_path, capsys
):
    from visualwords.apps.page.serving import listen

    with listen("127.0.0.1", 0) as listener:
        assert main(["serve", str(model), "--port", str(listener.getsockname()[1])]) == 1
    assert "choose another" in capsys.readouterr().err
    (tmp_path / "no.vw").write_text("no model")
    assert main(["serve", str(tmp_path / "no.vw")]) == 4
    assert main(["serve", str(model), "--report", str(tmp_path / "none.html")]) == 1
    assert "none.html" in capsys.readouterr().err
