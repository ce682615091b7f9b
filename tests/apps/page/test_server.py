"""The server against clients that are wrong, slow, many or hostile; real sockets throughout."""

import logging
import re
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.apps.page.conftest import CLIENT, Echo, connect, get, post
from visualwords.apps.page import limits
from visualwords.apps.page.guards import Guard
from visualwords.apps.page.served_models import ServedModels
from visualwords.apps.page.server import STATIC
from visualwords.apps.page.serving import AddressError, address_of, is_loopback, listen
from visualwords.apps.watching.watcher import ReloadedModel
from visualwords.errors import ModelFileError

HEAD = b"POST /api/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n"
KEY = "secret" * 4


def refused(answer, status, words):
    assert answer.status_code == status, answer.text
    assert words in answer.json()["error"]


def until(true, seconds=10.0):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)


# what is answered


def test_an_image_gets_an_answer_and_every_answer_safe_headers(server):
    answer = post(server(), b"x" * 100_000, "/api/predict?top=3")
    assert answer.json() == {"length": 100_000, "top": 3}
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "server" not in answer.headers


def test_every_page_is_there_and_asks_nothing_of_the_network(server):
    for path in STATIC:
        answer = get(server(), path)
        assert answer.status_code == 200
        assert "connect-src 'self'" in answer.headers["content-security-policy"]
        text = answer.text.replace("http://www.w3.org/2000/svg", "")  # a name, not an address
        assert not re.findall(r"""https?://|["'(]//""", text), path


QUESTIONS = {  # what is asked of /api/predict → the status, and the words of the sentence
    "top=-1": (400, "top is the number"),
    "top=" + "9" * 50: (400, "top is the number"),
    **{f"least={x}": (400, "lowest confidence") for x in ("0", "1", "nan", "1e-3", "-1")},
    "threshold=sea": (400, "such as defect:0.2"),
    "threshold=sea:2": (400, "from 0 to 1"),
    "unknown=1": (400, "between 0 and 1"),
    "min_confidence=-0.1": (400, "between 0 and 1"),
    "model=other": (404, "choose from echo"),
}
IMAGES = {b"": (400, "send the bytes of an image file"), b"crash": (422, "its decoder crashed")}
IMAGES |= {b"damaged": (422, "the file ends too early")}


def test_what_can_not_be_answered_gets_a_sentence(server):
    address = server()
    for question, answer in QUESTIONS.items():
        refused(post(address, b"x", f"/api/predict?{question}"), *answer)
    for image, answer in IMAGES.items():
        refused(post(address, image), *answer)
    refused(post(address, b"x", "/api/nothing"), 404, "docs/page.md")
    refused(get(address, "/api/predict"), 405, "docs/page.md")


def test_a_fault_is_logged_and_the_server_lives_on(server, caplog):
    with caplog.at_level(logging.ERROR, "visualwords.page"):
        refused(post(server(), b"fault"), 500, "the server failed on this request")
    assert "a fault of ours" in caplog.text
    assert "ZeroDivisionError" not in post(server(), b"fault").text
    assert post(server(), b"fine").json()["length"] == 4


def test_health_is_open_and_a_report_is_offered_in_a_sandbox(server):
    answer = get(server(key=KEY), "/healthz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok", "models": ["echo"]})
    address = server(report=b"<h1>report")
    assert get(address, "/api/model").json()["report"] is True
    answer = get(address, "/report")
    assert answer.content == b"<h1>report"
    assert "sandbox" in answer.headers["content-security-policy"]
    assert get(server(), "/report").status_code == 404


# forms


def part(content, name="a.jpg"):
    return ("image", (name, content, "image/jpeg"))


def send(address, files, path="/api/predict", **options):
    return CLIENT.post(f"http://127.0.0.1:{address[1]}{path}", files=files, **options)


FILE = b'--b\r\nContent-Disposition: form-data; name="a"; filename="a"\r\n\r\nx'
NO_FORMS = [  # what is sent as a form, of a kind, and what is said
    (b"x--", "", "damaged"),
    (b"no boundary--\r\n", "; boundary=b", "damaged"),
    (FILE, "; boundary=b", "ends too early"),
    (FILE.replace(b'; filename="a"', b"") + b"\r\n--b--\r\n", "; boundary=b", "no file"),
]


def test_a_form_with_one_file_is_that_file_and_one_that_is_none_gets_a_sentence(server):
    content = bytes(range(256)) * 8000 + b"\r\n--not the boundary\r\n"
    answer = send(server(), [part(content)], data={"comment": "not an image"})
    assert answer.json()["length"] == len(content)
    for body, kind, words in NO_FORMS:
        headers = {"content-type": "multipart/form-data" + kind}
        refused(post(server(), body, headers=headers), 400, words)


def test_a_batch_has_an_answer_for_each_file_also_for_a_bad_one(server):
    files = [part(b"12345", "1.jpg"), part(b"damaged", "<b>\n"), part(b"crash"), part(b"1")]
    found = send(server(), files, "/api/predict/batch?top=2").json()["predictions"]
    assert [one["name"] for one in found] == ["1.jpg", "<b>%0A", "a.jpg", "a.jpg"]
    assert [one.get("length") for one in found] == [5, None, None, 1]
    assert "the file ends too early" in found[1]["error"]
    refused(send(server(), [part(b"1")] * 65, "/api/predict/batch"), 413, "more than 64 files")
    refused(send(server(), files), 400, "/api/predict/batch")
    refused(post(server(), b"x", "/api/predict/batch"), 400, "send a form")


# who may ask


def test_a_foreign_host_and_the_page_of_another_site_are_refused(server):
    address = server()
    for host in ("evil.example", "localhost.evil.example", "10.0.0.1", "", "a@b"):
        refused(post(address, b"x", headers={"Host": host}), 403, "--allow-host")
    host = f"127.0.0.1:{address[1]}"
    others = ("http://evil.example", "null", f"http://{host}1", f"https://{host}", f"x://{host}")
    for origin in (*others, "http://["):
        refused(post(address, b"x", headers={"Origin": origin}), 403, "another site")
    assert post(address, b"x", headers={"Origin": f"http://{host}"}).status_code == 200
    behind_tls = {"Origin": f"https://{host}", "X-Forwarded-Proto": "https"}
    assert post(address, b"x", headers=behind_tls).status_code == 200


def test_beyond_loopback_addresses_and_given_names_are_known():
    guard = Guard(None, names={"localhost", "::1", "Box.lan"}, any_address=True)
    known = ("localhost", "LOCALHOST.:8000", "[::1]:8000", "192.168.1.5:8000", "box.lan")
    assert all(map(guard.knows, known))
    assert not any(map(guard.knows, ("[::1", "localhost:http", "box.lan.evil")))


def test_with_a_key_only_requests_that_know_it_are_answered(server):
    address = server(key=KEY)
    for headers in ({}, {"authorization": "Bearer wrong"}, {"x-api-key": KEY + "x"}):
        refused(post(address, b"x", headers=headers), 401, "needs a key")
    refused(post(address, b"x", headers={"cookie": "visualwords-key=wrong"}), 401, "needs a key")
    for headers in (
        {"authorization": f"Bearer {KEY}"},
        {"x-api-key": KEY},
        {"cookie": f"other=1; visualwords-key={KEY}"},
    ):
        assert post(address, b"x", headers=headers).status_code == 200
    for path in ("/api/model", "/api/models", "/report"):
        assert get(address, path).status_code == 401
    assert get(address, "/").status_code == 200


# sizes


def test_a_long_body_is_refused_by_its_announced_length_and_while_it_streams(server):
    address = server(max_bytes=1 << 20)
    refused(post(address, b"x" * (2 << 20)), 413, "larger than 1 MB")
    chunks = (b"x" * (1 << 16) for _ in range(40))
    refused(post(address, chunks), 413, "larger than 1 MB")
    one_byte_too_long = iter([b"x" * (1 << 20), b"x"])
    refused(post(address, one_byte_too_long), 413, "larger than 1 MB")
    assert post(address, b"x" * (1 << 20)).status_code == 200
    refused(post(server(), b"x" * 100_000_000), 413, "larger than 32 MB")


def test_all_bodies_together_are_bounded(server):
    address = server(max_held=150_000)
    with connect(address) as client:
        client.sendall(HEAD.replace(b"10\r\n", b"200000\r\n") + b"\r\n" + b"x" * 100_000)
        time.sleep(0.3)
        refused(post(address, b"x" * 100_000), 503, "too many images at once")
    time.sleep(0.3)
    assert post(address, b"x" * 100_000).status_code == 200  # what was held is given back


# time


STARTED = [b"", b"POST /api/pre", HEAD, b"GET /healthz HTTP/1.1\r\n"]
STARTED += [b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /he"]  # the next head


@pytest.mark.parametrize("sent", STARTED)
def test_a_head_that_does_not_come_ends_the_connection(server, sent):
    with connect(server(header_seconds=0.3)) as client:
        client.sendall(sent)
        answers = b"".join(iter(lambda: client.recv(4096), b""))
    assert answers.count(b"HTTP/1.1 200") == sent.count(b"\r\n\r\n")
    with connect(server(header_seconds=0.3)) as client, pytest.raises(OSError):  # noqa: PT012
        for byte in HEAD * 10:
            client.sendall(bytes([byte]))
            time.sleep(0.02)


def test_an_answer_may_take_longer_than_a_head(server):
    echo = Echo()
    address = server(answers=echo, header_seconds=0.2)
    with ThreadPoolExecutor(1) as thread:
        job = thread.submit(post, address, b"wait")
        time.sleep(0.6)
        echo.go_on.set()
        assert job.result().json()["length"] == 4


def test_a_body_that_does_not_come_is_refused(server):
    with connect(server(body_seconds=0.3)) as client:
        client.sendall(HEAD + b"\r\n" + b"xx")
        assert client.recv(100).startswith(b"HTTP/1.1 408")


def test_an_answer_that_nobody_reads_ends_the_connection(server):
    with connect(server(write_seconds=0.3)) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        request = b"GET /style.css HTTP/1.1\r\nHost: localhost\r\n\r\n"
        with pytest.raises(OSError):  # noqa: PT012 - any of them may fail
            for _ in range(100):
                client.sendall(request * 50)
                time.sleep(0.05)


# numbers


def test_connections_are_bounded(server):
    address = server(max_connections=5)
    clients = [connect(address) for _ in range(8)]
    try:
        for client in clients:
            client.settimeout(0.3)
        assert [is_refused(client) for client in clients] == [False] * 5 + [True] * 3
    finally:
        for client in clients:
            client.close()
    until(lambda: get(address, "/healthz").status_code == 200)


def is_refused(client):
    try:
        return client.recv(100).startswith(b"HTTP/1.1 503")
    except TimeoutError:
        return False


@pytest.mark.parametrize(("n_workers", "is_costly"), [(2, False), (1, True)])
def test_work_beyond_a_queue_is_refused_and_all_else_answered(
    server, monkeypatch, n_workers, is_costly
):
    monkeypatch.setattr(limits, "is_costly", lambda data, _: is_costly and data == b"wait")
    echo, n_waiting = Echo(), 2
    address = server(answers=echo, **{"max_costly" if is_costly else "max_waiting": n_waiting})
    with ThreadPoolExecutor(8) as threads:
        jobs = [threads.submit(post, address, b"wait") for _ in range(8)]
        until(lambda: sum(job.done() for job in jobs) == 8 - n_workers - n_waiting)
        assert get(address).status_code == 200  # while the workers are busy
        if is_costly:  # they wait for each other only
            assert [post(address, b"x").status_code for _ in range(3)] == [200] * 3
        echo.go_on.set()
        answers = sorted((job.result() for job in jobs), key=lambda answer: answer.status_code)
    n_done = n_workers + n_waiting
    assert [answer.status_code for answer in answers] == [200] * n_done + [503] * (8 - n_done)
    refused(answers[-1], 503, "large images" if is_costly else "too many images")
    assert post(address, b"x").status_code == 200


def test_what_nobody_waits_for_is_not_begun(server):
    echo = Echo()
    address = server(answers=echo, max_waiting=20)
    with ThreadPoolExecutor(2) as threads:
        jobs = [threads.submit(post, address, b"wait") for _ in range(2)]
        until(lambda: echo.n_begun == 2)
        for _ in range(20):
            with connect(address) as client:
                client.sendall(HEAD.replace(b"10\r\n", b"4\r\n") + b"\r\nwait")
        time.sleep(0.3)  # for the server to notice that they have gone
        echo.go_on.set()
        for job in jobs:
            job.result()
    assert [post(address, b"x").status_code for _ in range(25)] == [200] * 25
    assert echo.n_begun == 27


# what no client of ours sends

ASKED = b" HTTP/1.1\r\nHost: HOST\r\n"
RAW = {  # what is sent → the status of the answer, after which the connection ends if it is 400
    "above": (b"GET /../pyproject.toml" + ASKED + b"\r\n", 404),
    "beside": (b"GET /static/../server.py" + ASKED + b"\r\n", 404),
    "encoded": (b"GET /%2e%2e/server.py" + ASKED + b"\r\n", 404),
    "elsewhere": (b"GET /etc/passwd" + ASKED + b"\r\n", 404),
    "no host": (b"GET / HTTP/1.0\r\n\r\n", 403),
    "two origins": (b"GET /" + ASKED + b"Origin: http://HOST\r\nOrigin: http://HOST\r\n\r\n", 403),
    "two kinds of length": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    "no HTTP": (b"\x00\xff\r\n\r\n", 400),
    "version": (b"GET / HTTP/9\r\n\r\n", 400),
    "two hosts": (b"GET /" + ASKED + b"Host: HOST\r\n\r\n", 400),
    "two lengths": (HEAD + b"Content-Length: 2\r\n\r\n", 400),
    "encoding": (b"POST /" + ASKED + b"Transfer-Encoding: gzip\r\n\r\n", 400),
    "long": (b"GET " + b"a" * 100_000, 400),
    "chunk": (
        b"POST /api/predict" + ASKED + b"Transfer-Encoding: chunked\r\n\r\nno chunk\r\n",
        400,
    ),
}


@pytest.mark.parametrize("name", RAW)
def test_ambiguous_and_hostile_requests_get_a_refusal(name, server, caplog):
    sent, status = RAW[name]
    address = server()
    with connect(address) as client:
        client.sendall(sent.replace(b"HOST", b"127.0.0.1:%d" % address[1]))
        if status == 400:
            answer = b"".join(iter(lambda: client.recv(4096), b""))
            assert b"connection: close" in answer.lower()
        else:
            answer = client.recv(4096)
    assert answer.split()[1] == b"%d" % status
    assert post(address, b"x").status_code == 200
    assert not caplog.records


# models and addresses


def test_a_replaced_file_is_loaded_and_a_bad_one_is_not(tmp_path):
    path = tmp_path / "m.vw"
    path.write_bytes(b"1")

    def load():
        if path.read_bytes() == b"bad":
            raise ModelFileError("not a usable model file")
        return path.read_bytes()

    models = ServedModels({"m": b"1"}, {"m": ReloadedModel(load, str(path))})
    assert models.reload() == []
    path.write_bytes(b"second")
    (sentence,) = models.reload()
    assert "loaded again" in sentence
    assert models.find(None) == b"second"
    path.write_bytes(b"bad")
    (sentence,) = models.reload()
    assert "the model before stays in use" in sentence
    path.unlink()
    assert models.reload() == []
    assert models.find("m") == b"second"


def test_loopback_and_other_addresses_differ():
    with listen("127.0.0.1", 0) as listener:
        assert is_loopback(listener)
        port = listener.getsockname()[1]
        assert address_of(listener) == f"http://127.0.0.1:{port}/"
        with pytest.raises(AddressError, match=f"port {port}: .*--port"):
            listen("127.0.0.1", port)
    with listen("0.0.0.0", 0) as listener:
        assert not is_loopback(listener)
        assert address_of(listener).startswith("http://127.0.0.1:")
    with pytest.raises(AddressError, match="nowhere"):
        listen("nowhere.invalid", 0)
