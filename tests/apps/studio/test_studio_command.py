"""classify-images studio as people run it."""

import signal
import subprocess
import sys

import httpx
import pytest

from visualwords.apps.classify_images.main import main
from visualwords.apps.page.serving import listen


@pytest.mark.posix
def test_the_studio_runs_until_interrupted_and_its_training_process_ends_with_it(tmp_path):
    command = [sys.executable, "-m", "visualwords.apps.classify_images", "studio"]
    process = subprocess.Popen(
        [*command, tmp_path / "mine", "--port", "0", "--cache", tmp_path / "cache"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")
        status = httpx.get(f"{address}studio/status", timeout=60).json()
        assert status["folder"] == str(tmp_path / "mine")
        assert status["models"] == []
        assert httpx.get(address, timeout=60).text.startswith("<!doctype html>")
        assert httpx.get(f"{address}api/model", timeout=60).status_code == 409
    finally:
        process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors


def test_a_port_in_use_and_a_file_in_place_of_a_folder_end_with_a_sentence(tmp_path, capsys):
    with listen("127.0.0.1", 0) as listener:
        port = str(listener.getsockname()[1])
        assert main(["studio", str(tmp_path / "mine"), "--port", port]) == 1
    assert "choose another" in capsys.readouterr().err
    (tmp_path / "file").write_text("no folder")
    assert main(["studio", str(tmp_path / "file"), "--port", "0"]) == 2
