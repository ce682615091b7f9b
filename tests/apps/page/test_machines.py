"""The server for machines: health, metrics, forms, batches, keys, several models, reloading."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import httpx
import numpy as np
import pytest

from tests.apps.conftest import COLORS, noisy
from tests.apps.page.conftest import CLIENT, Echo, get, matches, post
from visualwords.apps.page.answering import served_models
from visualwords.apps.page.served_models import ServedModels
from visualwords.apps.pipeline.image_classifier import ImageClassifier
from visualwords.errors import FolderError, ModelFileError
from visualwords.images import encode_image


def send(address, files, path="/api/predict"):
    return CLIENT.post(f"http://127.0.0.1:{address[1]}{path}", files=files)


def image_part(content, name="a.jpg"):
    return ("image", (name, content, "image/jpeg"))


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    rng = np.random.default_rng(1)
    images = [noisy(color, rng) for color in COLORS.values() for _ in range(8)]
    labels = [name for name in COLORS for _ in range(8)]
    path = tmp_path_factory.mktemp("model") / "coast.vw"
    ImageClassifier("color").fit(images, labels).save(path)
    return str(path)


def sea():
    return encode_image(noisy(COLORS["sea"], np.random.default_rng(5)))


def test_health_is_open_and_names_the_models(server):
    answer = get(server(key="k" * 20), "/healthz")
    assert answer.status_code == 200
    assert answer.json() == {"status": "ok", "models": ["echo"]}


def test_metrics_count_answers_by_path_and_status_in_prometheus_format(server):
    address = server()
    for body in (b"fine", b"fine", b"damaged"):
        post(address, body)
    get(address, "/no/such/page")
    answer = get(address, "/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = answer.text.splitlines()
    assert 'visualwords_requests_total{path="/api/predict",status="200"} 2' in lines
    assert 'visualwords_requests_total{path="/api/predict",status="422"} 1' in lines
    assert 'visualwords_requests_total{path="other",status="404"} 1' in lines
    assert 'visualwords_request_seconds_count{path="/api/predict"} 3' in lines
    assert 'visualwords_request_seconds_bucket{path="/api/predict",le="+Inf"} 3' in lines
    metric = re.compile(r'[a-z_]+(\{[a-z]+="[^"\n]*"(,[a-z]+="[^"\n]*")*\})? [0-9.e+-]+')
    comment = re.compile(r"# (HELP [a-z_]+ .+|TYPE [a-z_]+ (counter|gauge|histogram))")
    for line in lines:
        assert metric.fullmatch(line) or comment.fullmatch(line), line


def test_buckets_of_a_histogram_never_fall(server):
    address = server()
    for _ in range(5):
        post(address, b"fine")
    text = get(address, "/metrics").text
    counts = re.findall(r'_bucket\{path="/api/predict",le="[^"]+"\} (\d+)', text)
    assert [int(n) for n in counts] == sorted(int(n) for n in counts)


def test_a_form_with_one_file_is_that_file(server):
    address = server()
    content = bytes(range(256)) * 40 + b"\r\n--not the boundary\r\n"
    assert send(address, [image_part(content)]).json()["length"] == len(content)
    fields = {"comment": "not an image"}
    both = CLIENT.post(
        f"http://127.0.0.1:{address[1]}/api/predict", files=[image_part(b"abc")], data=fields
    )
    assert both.json()["length"] == 3


def test_a_batch_has_an_answer_for_each_file_also_for_a_bad_one(server):
    files = [image_part(b"12345", "1.jpg"), image_part(b"damaged", "2.jpg"), image_part(b"1")]
    found = send(server(), files, "/api/predict/batch?top=2").json()["predictions"]
    assert [one["name"] for one in found] == ["1.jpg", "2.jpg", "a.jpg"]
    assert [one.get("length") for one in found] == [5, None, 1]
    assert "the file ends too early" in found[1]["error"]


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (b"x", "multipart/form-data", "no boundary"),
        (b"no boundary\r\n", "multipart/form-data; boundary=b", "damaged"),
        (
            b'--b\r\nContent-Disposition: form-data; name="a"; filename="a"\r\n\r\nx',
            "multipart/form-data; boundary=b",
            "ends too early",
        ),
        (
            b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\nx\r\n--b--\r\n',
            "multipart/form-data; boundary=b",
            "no file",
        ),
    ],
)
def test_forms_that_are_none_get_a_sentence(server, body, kind, words):
    answer = post(server(), body, headers={"content-type": kind})
    assert answer.status_code == 400
    assert words in answer.json()["error"]


def test_too_many_files_and_several_where_one_is_due_are_refused(server):
    address = server()
    answer = send(address, [image_part(b"1")] * 65, "/api/predict/batch")
    assert answer.status_code == 413
    answer = send(address, [image_part(b"1")] * 2)
    assert "/api/predict/batch" in answer.json()["error"]
    assert post(address, b"x", "/api/predict/batch").status_code == 400


def test_with_a_key_only_requests_that_know_it_are_answered(server):
    key = "secret" * 4
    address = server(key=key)
    for headers in ({}, {"authorization": "Bearer wrong"}, {"x-api-key": key + "x"}):
        answer = post(address, b"x", headers=headers)
        assert answer.status_code == 401
        assert "needs a key" in answer.json()["error"]
    for headers in ({"authorization": f"Bearer {key}"}, {"x-api-key": key}):
        assert post(address, b"x", headers=headers).status_code == 200
    for path in ("/metrics", "/api/model", "/openapi.json"):
        assert get(address, path).status_code == 401
    assert get(address, "/").status_code == 200


def test_models_are_chosen_by_name(server):
    class Other(Echo):
        def predict(self, data, question):
            return {"other": True}

    address = server(models=ServedModels({"echo": Echo(), "other": Other()}))
    assert get(address, "/api/models").json() == {"models": ["echo", "other"]}
    assert post(address, b"x").json()["length"] == 1
    assert post(address, b"x", "/api/predict?model=other").json() == {"other": True}
    answer = post(address, b"x", "/api/predict?model=third")
    assert answer.status_code == 404
    assert "choose from echo, other" in answer.json()["error"]


def test_thresholds_and_unknown_change_the_label_of_one_request(server, model):
    address = server(models=served_models([model], 100_000))
    plain = post(address, sea()).json()
    assert plain["label"] == "sea"
    sure = plain["classes"][0]["probability"]
    asked = "/api/predict?threshold=wood:0"
    assert post(address, sea(), asked).json()["label"] == "wood"
    assert post(address, sea(), "/api/predict?threshold=sea:1").json()["label"] != "sea"
    least = min(0.999999, sure + (1 - sure) / 2)
    assert post(address, sea(), f"/api/predict?min_confidence={least:.6f}").json()["label"] == (
        "unknown"
    )
    noise = encode_image(np.random.default_rng(0).integers(0, 256, (48, 64, 3), dtype=np.uint8))
    assert post(address, noise, "/api/predict?unknown=0.2").json()["label"] == "unknown"
    assert post(address, sea()).json() | {"seconds": 0} == plain | {"seconds": 0}


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ("threshold=sea", 400, "such as defect:0.2"),
        ("threshold=sea:2", 400, "from 0 to 1"),
        ("threshold=fog:0.5", 404, "no such class"),
        ("unknown=1", 400, "between 0 and 1"),
        ("min_confidence=-0.1", 400, "between 0 and 1"),
        ("min_confidence=1e-9", 400, "between 0 and 1"),
    ],
)
def test_wrong_parameters_get_a_sentence(server, model, query, status, words):
    answer = post(server(models=served_models([model], 100_000)), sea(), f"/api/predict?{query}")
    assert answer.status_code == status, answer.text
    assert words in answer.json()["error"]


def test_a_replaced_file_is_loaded_and_a_bad_one_is_not(tmp_path):
    path = tmp_path / "m.vw"
    path.write_bytes(b"1")

    def load(path):
        with open(path, "rb") as file:
            content = file.read()
        if content == b"bad":
            raise ModelFileError("not a usable model file")
        return content

    models = ServedModels({"m": load(path)}, load, {"m": str(path)})
    assert models.reload() == []
    path.write_bytes(b"second")
    (sentence,) = models.reload()
    assert "loaded again" in sentence
    assert models.find(None) == b"second"
    path.write_bytes(b"bad")
    (sentence,) = models.reload()
    assert "the model before stays in use" in sentence
    assert models.reload() == []
    path.unlink()
    assert models.reload() == []
    assert models.find("m") == b"second"


def test_two_models_of_one_name_are_refused(model, tmp_path):
    shutil.copy(model, tmp_path / "coast.vw")
    with pytest.raises(FolderError, match="two models are called coast"):
        served_models([model, str(tmp_path / "coast.vw")], 1000)


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="needs SIGHUP")
def test_the_command_serves_two_models_with_a_key_and_reloads_on_sighup(model, tmp_path):
    first, second, key = tmp_path / "a.vw", tmp_path / "b.vw", tmp_path / "key"
    shutil.copy(model, first)
    shutil.copy(model, second)
    key.write_text("0123456789abcdef\n")
    command = [sys.executable, "-m", "visualwords.apps.classify_images", "serve"]
    command += [first, second, "--port", "0", "--api-key-file", key, "--quiet"]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        address, _, fragment = run.stdout.readline().strip().partition("#")
        assert fragment == "key=0123456789abcdef"
        ask = {"headers": {"x-api-key": "0123456789abcdef"}, "timeout": 20, "trust_env": False}
        for path in ("api/predict", "api/predict?model=b"):
            assert _patiently(lambda p=path: httpx.post(address + p, content=sea(), **ask)).json()[
                "label"
            ] == ("sea")
        assert httpx.get(address + "api/models", **ask).json() == {"models": ["a", "b"]}
        rng = np.random.default_rng(2)
        images = [noisy(color, rng) for color in COLORS.values() for _ in range(8)]
        renamed = [f"new {name}" for name in COLORS for _ in range(8)]
        ImageClassifier("color").fit(images, renamed).save(first)
        run.send_signal(signal.SIGHUP)
        end = time.monotonic() + 120
        label = "sea"
        while label == "sea" and time.monotonic() < end:
            label = httpx.post(address + "api/predict", content=sea(), **ask).json()["label"]
            time.sleep(0.05)
        assert label == "new sea"
    finally:
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=120)
    assert run.returncode == 130


def test_every_answer_is_as_the_openapi_document_says(server, model):
    address = server(models=served_models([model], 100_000))
    document = get(address, "/openapi.json").json()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            answers = [get(address, path)] if method == "get" else list(_asked(address, path))
            assert 200 in {answer.status_code for answer in answers}, path
            for answer in answers:
                described = operation["responses"][str(answer.status_code)]["content"]
                kind = answer.headers["content-type"].split(";")[0]
                assert kind in described, path
                if kind == "application/json":
                    assert matches(described[kind]["schema"], answer.json()), (path, answer.text)


def _asked(address, path):
    """Ask a question in all forms, well and badly."""
    parts = [image_part(sea()), image_part(b"no image")]
    yield send(address, parts[:1], path)
    yield send(address, parts, path)
    yield send(address, parts[1:], path)
    yield post(address, sea(), path)
    yield post(address, sea(), f"{path}?top=2&model=coast")
    yield post(address, b"no image", path)
    yield post(address, b"", path)
    yield post(address, sea(), f"{path}?top=0")
    yield send(address, parts[:1], f"{path}?model=fog")


@pytest.mark.posix
def test_a_decoder_that_segfaults_costs_one_answer_and_nothing_else(model):
    command = [sys.executable, "-m", "visualwords.apps.classify_images", "serve", model]
    process = subprocess.Popen([*command, "--port", "0"], stdout=subprocess.PIPE, text=True)
    try:
        address = re.search(r"http://\S+/", process.stdout.readline())[0]
        ask = partial(CLIENT.post, f"{address}api/predict", content=sea(), timeout=60)
        good = ask()
        (decoder,) = workers_of(process.pid)  # the other one is started when it is needed
        os.kill(decoder, signal.SIGSTOP)  # so that it has the image when it ends
        with ThreadPoolExecutor(4) as clients:
            waiting = clients.submit(ask)
            time.sleep(0.5)
            others = [clients.submit(ask) for _ in range(3)]
            os.kill(decoder, signal.SIGSEGV)
            os.kill(decoder, signal.SIGCONT)
        answer = waiting.result()
        assert answer.status_code == 500
        assert "crashed" in answer.json()["error"]
        labels = {one.result().json()["label"] for one in others}
        assert [one.result().status_code for one in others] == [200] * 3
        assert labels == {good.json()["label"]} == {"sea"}
        assert decoder not in workers_of(process.pid)
        assert CLIENT.get(f"{address}healthz").status_code == 200
    finally:
        process.terminate()
        process.communicate(timeout=120)


def workers_of(pid):
    """Return the processes that answer for a server and that run."""
    found = subprocess.run(
        ["ps", "-ww", "-eo", "pid,ppid,stat,args"], capture_output=True, text=True
    )
    rows = [line.split(None, 3) for line in found.stdout.splitlines()[1:]]
    started = [(int(row[0]), int(row[1])) for row in rows if not row[2].startswith("Z")]
    templates = [own for own, parent in started if parent == pid]
    return [own for own, parent in started if parent in templates]


@pytest.mark.parametrize(("content", "words"), [("short", "16 or more letters"), (None, "no such")])
def test_a_key_that_can_not_be_used_is_an_error(model, tmp_path, capsys, content, words):
    from visualwords.apps.classify_images.main import main

    if content is not None:
        (tmp_path / "key").write_text(content)
    assert main(["serve", model, "--port", "0", "--api-key-file", str(tmp_path / "key")]) == 1
    assert words in capsys.readouterr().err
    assert os.environ.get("VISUALWORDS_API_KEY") is None


def _patiently(ask):
    """Ask until the server listens."""
    end = time.monotonic() + 120
    while True:
        try:
            return ask()
        except httpx.ConnectError:
            assert time.monotonic() < end
            time.sleep(0.05)
