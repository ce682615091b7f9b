"""classify-images serve as people run it."""

import shutil
import signal
import subprocess
import sys

import httpx
import numpy as np

from tests.apps.conftest import COLORS, noisy
from visualwords.apps.classify_images.main import main
from visualwords.apps.page.serving import listen
from visualwords.images import encode_image

COMMAND = [sys.executable, "-m", "visualwords.apps.classify_images", "serve"]


def start(*arguments):
    return subprocess.Popen(
        [*COMMAND, *map(str, arguments), "--port", "0"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_two_models_with_a_key_and_a_report_are_served_until_interrupted(model, tmp_path):
    for name in ("a.vw", "b.vw"):
        shutil.copy(model, tmp_path / name)
    (tmp_path / "a.html").write_text("<!doctype html>the report")
    (tmp_path / "key").write_text("0123456789abcdef\n")
    process = start(tmp_path / "a.vw", tmp_path / "b.vw", "--api-key-file", tmp_path / "key",
                    "--host", "0.0.0.0", "--allow-host", "box.lan")  # fmt: skip
    try:
        address, _, fragment = process.stdout.readline().strip().partition("#")
        assert fragment == "key=0123456789abcdef"
        headers = {"x-api-key": "0123456789abcdef"}
        with httpx.Client(base_url=address, headers=headers, timeout=60, trust_env=False) as client:
            assert client.get("api/models").json() == {"models": ["a", "b"]}
            assert "the report" in client.get("report").text
            sea = encode_image(noisy(COLORS["sea"], np.random.default_rng(5)))
            assert client.post("api/predict?model=b", content=sea).json()["label"] == "sea"
            for host, status in (("box.lan", 200), ("192.0.2.7", 200), ("evil.example", 403)):
                assert client.get("", headers={"Host": host}).status_code == status
    finally:
        process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert "warning" not in errors


def test_beyond_loopback_without_a_key_is_warned_about(capsys):
    from visualwords.apps.page.serving import announce

    with listen("0.0.0.0", 0) as listener:
        assert announce(listener, "0.0.0.0", "a key").endswith("/#key=a%20key")
        assert "no password" not in capsys.readouterr().err
        announce(listener, "0.0.0.0", None)
    assert "no password" in capsys.readouterr().err


def test_what_can_not_be_used_ends_with_a_sentence(model, tmp_path, capsys):
    for name in ("short", "no.vw"):
        (tmp_path / name).write_text("short")
    with listen("127.0.0.1", 0) as listener:
        cases = {
            ("--port", str(listener.getsockname()[1])): "choose another",
            ("--report", str(tmp_path / "none.html")): "none.html",
            ("--port", "0", "--api-key-file", str(tmp_path / "short")): "16 or more letters",
            ("--port", "0", "--api-key-file", str(tmp_path / "none")): "no such",
        }
        for flags, words in cases.items():
            assert main(["serve", str(model), *flags]) == 1
            assert words in capsys.readouterr().err
    assert main(["serve", str(tmp_path / "no.vw")]) == 4
