"""The server against clients that are wrong, slow, many or hostile; real sockets throughout."""

import json
import logging
import re
import socket
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.apps.page.conftest import Echo, connect, get, post
from visualwords.apps.page import worker_threads
from visualwords.apps.page.guards import CheckHost, LimitRate
from visualwords.apps.page.limits import Limits
from visualwords.apps.page.served_models import ServedModels
from visualwords.apps.page.server import STATIC, create_app
from visualwords.apps.page.serving import (
    AddressError,
    address_of,
    is_loopback,
    listen,
    protocol_of,
)

HEAD = b"POST /api/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n"


def refused(answer, status, words):
    assert answer.status_code == status, answer.text
    assert words in answer.json()["error"]


def test_an_image_gets_an_answer_and_every_answer_safe_headers(server):
    answer = post(server(), b"x" * 100_000, "/api/predict?top=3")
    assert answer.json() == {"length": 100_000, "top": 3}
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "server" not in answer.headers


@pytest.mark.parametrize("path", [*STATIC, "/openapi.json", "/api/model"])
def test_every_page_is_there_and_asks_nothing_of_the_network(server, path):
    answer = get(server(), path)
    assert answer.status_code == 200
    assert "connect-src 'self'" in answer.headers["content-security-policy"]
    text = answer.text.replace("http://www.w3.org/2000/svg", "")  # a name, not an address
    assert not re.findall(r"""https?://|["'(]//""", text)


@pytest.mark.parametrize(
    "path", ["/../pyproject.toml", "/static/../server.py", "/%2e%2e/server.py", "/etc/passwd"]
)
def test_no_path_of_a_request_reaches_a_file(server, path):
    with connect(server()) as client:
        client.sendall(b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path.encode())
        assert client.recv(100).startswith(b"HTTP/1.1 404")


def test_what_can_not_be_asked_gets_a_sentence(server):
    address = server()
    refused(post(address, b"x", "/api/predict?top=-1"), 400, "top is the number")
    refused(post(address, b"x", "/api/predict?top=" + "9" * 50), 400, "top is the number")
    for least in ("0", "1", "nan", "1e-3", "-0.5"):
        refused(post(address, b"x", f"/api/predict?least={least}"), 400, "lowest confidence")
    refused(post(address, b"", "/api/predict"), 400, "send the bytes of an image file")
    refused(post(address, b"x", "/api/nothing"), 404, "/openapi.json")
    refused(get(address, "/api/predict"), 405, "/openapi.json")
    refused(post(address, b"damaged"), 422, "the file ends too early")


def test_a_crash_is_logged_and_the_server_lives_on(server, caplog):
    address = server()
    with caplog.at_level(logging.ERROR, "visualwords.page"):
        refused(post(address, b"crash"), 500, "the server failed on this request")
    assert "a fault of ours" in caplog.text
    assert "ZeroDivisionError" not in post(address, b"crash").text
    assert post(address, b"fine").json()["length"] == 4


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "10.0.0.1", "", "a@b"])
def test_a_foreign_host_is_refused(server, host):
    refused(post(server(), b"x", headers={"Host": host}), 403, "--allow-host")


def test_a_request_without_a_host_is_refused(server):
    with connect(server()) as client:
        client.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert client.recv(100).startswith(b"HTTP/1.1 403")


def test_the_page_of_another_site_is_refused(server):
    address = server()
    host = f"127.0.0.1:{address[1]}"
    others = ("http://evil.example", "null", f"http://{host}1", f"https://{host}", f"x://{host}")
    for origin in others:
        refused(post(address, b"x", headers={"Origin": origin}), 403, "another site")
    assert post(address, b"x", headers={"Origin": f"http://{host}"}).status_code == 200
    behind_tls = {"Origin": f"https://{host}", "X-Forwarded-Proto": "https"}
    assert post(address, b"x", headers=behind_tls).status_code == 200


@pytest.mark.parametrize(
    ("host", "known"),
    [
        ("localhost", True),
        ("LOCALHOST.:8000", True),
        ("[::1]:8000", True),
        ("[::1", False),
        ("localhost:http", False),
        ("192.168.1.5:8000", True),
        ("box.lan", True),
        ("box.lan.evil", False),
    ],
)
def test_beyond_loopback_addresses_and_given_names_are_known(host, known):
    names = {"localhost", "::1", "Box.lan"}
    assert CheckHost(None, names=names, any_address=True).knows(host) is known


def test_a_long_body_is_refused_by_its_announced_length_and_while_it_streams(server):
    address = server(max_bytes=1 << 20)
    refused(post(address, b"x" * (2 << 20)), 413, "larger than 1 MB")

    def chunks():
        for _ in range(40):
            yield b"x" * (1 << 16)

    refused(post(address, chunks()), 413, "larger than 1 MB")
    one_chunk_too_long = iter([b"x" * (1 << 20), b"x"])
    refused(post(address, one_chunk_too_long), 413, "larger than 1 MB")
    assert post(address, b"x" * (1 << 20)).status_code == 200


def test_a_hundred_megabytes_are_not_taken_into_memory(server):
    answer = post(server(), b"x" * 100_000_000)
    refused(answer, 413, "larger than 32 MB")


def test_all_bodies_together_are_bounded(server):
    address = server(max_held=250_000)  # half of it for one client
    with connect(address) as client:
        client.sendall(HEAD.replace(b"10\r\n", b"200000\r\n") + b"\r\n" + b"x" * 100_000)
        time.sleep(0.3)
        refused(post(address, b"x" * 100_000), 503, "too many images at once")
    time.sleep(0.3)
    assert post(address, b"x" * 100_000).status_code == 200  # what was held is given back


@pytest.mark.parametrize("sent", [b"", b"POST /api/pre", HEAD])
def test_a_head_that_does_not_come_ends_the_connection(server, sent):
    address = server(header_seconds=0.3)
    with connect(address) as client:
        client.sendall(sent)
        assert _ended(client)


def test_a_head_sent_byte_by_byte_ends_the_connection(server):
    address = server(header_seconds=0.5)
    with connect(address) as client, pytest.raises(OSError):  # noqa: PT012 - any of them may fail
        for byte in HEAD * 10:
            client.sendall(bytes([byte]))
            time.sleep(0.02)


def test_a_body_that_does_not_come_is_refused(server):
    address = server(body_seconds=0.3)
    with connect(address) as client:
        client.sendall(HEAD + b"\r\n" + b"xx")
        assert client.recv(100).startswith(b"HTTP/1.1 408")


def test_an_answer_that_nobody_reads_ends_the_connection(server):
    address = server(write_seconds=0.3, header_seconds=0.3, rate=1e6, burst=1_000_000)
    with connect(address) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        request = b"GET /style.css HTTP/1.1\r\nHost: localhost\r\n\r\n"
        with pytest.raises(OSError):  # noqa: PT012 - any of them may fail
            for _ in range(100):
                client.sendall(request * 50)
                time.sleep(0.05)


def test_nonsense_does_not_stop_the_server(server):
    address = server()
    for nonsense in (b"\x00\xff\r\n\r\n", b"GET / HTTP/9\r\n\r\n", b"GET " + b"a" * 100_000):
        with connect(address) as client:
            client.sendall(nonsense)
    assert post(address, b"x").status_code == 200


def test_connections_are_bounded(server):
    address = server(max_connections=5)
    sources = ["127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"] * 2
    clients = [socket.create_connection(address, 0.3, (source, 0)) for source in sources]
    try:
        assert [_is_refused(client) for client in clients] == [False] * 5 + [True] * 3
    finally:
        for client in clients:
            client.close()


def test_fifty_at_once_are_all_answered(server):
    address = server()
    with ThreadPoolExecutor(50) as threads:
        answers = list(threads.map(lambda i: post(address, b"x" * (i + 1)), range(50)))
    assert [answer.json()["length"] for answer in answers] == list(range(1, 51))


def test_work_beyond_the_queue_is_refused_and_the_page_stays_there(server):
    echo = Echo()
    address = server(answers=echo, max_waiting=2)
    with ThreadPoolExecutor(8) as threads:
        jobs = [threads.submit(post, address, b"wait") for _ in range(8)]
        _until(lambda: sum(job.done() for job in jobs) == 4)
        assert get(address).status_code == 200  # while both workers are busy
        echo.go_on.set()
        statuses = sorted(job.result().status_code for job in jobs)
    assert statuses == [200] * 4 + [503] * 4


class Noting(Echo):
    """Notes the images in the order in which they are worked on."""

    def __init__(self):
        super().__init__()
        self.order = []

    def predict(self, data, question):
        self.order.append(data)
        return super().predict(data, question)


def _post_from(source, address, body):
    with httpx.Client(transport=httpx.HTTPTransport(local_address=source), timeout=20) as client:
        return client.post(f"http://127.0.0.1:{address[1]}/api/predict", content=body)


def test_a_client_does_not_wait_behind_the_queue_of_another(server):
    answers = Noting()
    address = server(answers=answers)
    with ThreadPoolExecutor(9) as threads:
        jobs = [threads.submit(post, address, b"wait") for _ in range(2)]
        _until(lambda: answers.n_begun == 2)  # both workers are busy
        jobs += [threads.submit(post, address, b"queue") for _ in range(6)]
        _until(lambda: _metric(address, "visualwords_images_waiting") == 8)
        jobs.append(threads.submit(_post_from, "127.0.0.2", address, b"other"))
        _until(lambda: _metric(address, "visualwords_images_waiting") == 9)
        answers.go_on.set()
        assert [job.result().status_code for job in jobs] == [200] * 9
    assert b"other" in answers.order[2:4]  # two workers begin at once


def test_a_full_queue_has_room_for_a_client_with_nothing_in_it(server):
    answers = Noting()
    address = server(answers=answers, max_waiting=4)
    with ThreadPoolExecutor(7) as threads:
        jobs = [threads.submit(post, address, b"wait") for _ in range(6)]
        _until(lambda: _metric(address, "visualwords_images_waiting") == 6)
        other = threads.submit(_post_from, "127.0.0.2", address, b"other")
        _until(lambda: any(job.done() for job in jobs))
        answers.go_on.set()
        assert other.result().status_code == 200
        assert sorted(job.result().status_code for job in jobs) == [200] * 5 + [503]


def _metric(address, name):
    """Return a figure of the server."""
    text = get(address, "/metrics").text
    return int(re.search(rf"^{name} (\d+)", text, re.M)[1])


def test_what_nobody_waits_for_is_not_begun(server):
    echo = Echo()
    address = server(answers=echo)
    with ThreadPoolExecutor(2) as threads:
        jobs = [threads.submit(post, address, b"wait") for _ in range(2)]
        _until(lambda: echo.n_begun == 2)
        for _ in range(20):
            with connect(address) as client:
                client.sendall(HEAD.replace(b"10\r\n", b"4\r\n") + b"\r\nwait")
        time.sleep(0.3)  # for the server to notice that they have gone
        echo.go_on.set()
        for job in jobs:
            job.result()
    assert post(address, b"x").status_code == 200
    assert echo.n_begun == 3


def test_the_rate_of_an_address_is_limited(server):
    address = server(rate=1, burst=3)
    answers = [post(address, b"x") for _ in range(5)]
    assert [answer.status_code for answer in answers[:3]] == [200] * 3
    refused(answers[4], 429, "wait a moment")
    assert answers[4].headers["retry-after"] == "1"


def test_the_rate_is_a_bucket_that_fills_and_forgets_the_quiet():
    now = 0.0
    limit = LimitRate(None, rate=2, burst=2, clock=lambda: now)
    assert [limit.admit("a") for _ in range(3)] == [True, True, False]
    now = 0.5
    assert [limit.admit("a") for _ in range(2)] == [True, False]
    for i in range(5000):
        limit.admit(str(i))
    assert len(limit.buckets) <= 4096


def test_a_report_is_offered_in_a_sandbox(server):
    address = server(report=b"<h1>report")
    assert get(address, "/api/model").json()["report"] is True
    answer = get(address, "/report")
    assert answer.content == b"<h1>report"
    assert "sandbox" in answer.headers["content-security-policy"]
    assert get(server(), "/report").status_code == 404


def test_the_openapi_document_names_every_address_of_the_api(server):
    document = get(server(), "/openapi.json").json()
    routes = {route.path for route in create_app(ServedModels({"echo": Echo()})).routes}
    described = {path for path in routes if path.startswith("/api/")} | {"/healthz", "/metrics"}
    assert set(document["paths"]) == described


def test_addresses_are_told_apart():
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


def _until(true, seconds=10.0):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)


def _ended(client, seconds=10.0):
    client.settimeout(seconds)
    try:
        return client.recv(100) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


def test_uvicorns_private_protocol_is_as_ours_needs_it():
    """Where this fails, the server falls back to uvicorn's own protocol (the next test)."""
    from visualwords.apps.page.connections import WatchedConnection

    assert protocol_of(Limits()).func is WatchedConnection


def test_without_uvicorns_private_protocol_the_server_warns_and_uses_its_public_one(monkeypatch):
    monkeypatch.setitem(sys.modules, "visualwords.apps.page.connections", None)
    with pytest.warns(UserWarning, match="slow clients are not disconnected"):
        assert protocol_of(Limits()) == "h11"


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        (b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", b"400"),
        (b"Content-Length: 0\r\nOrigin: http://HOST\r\nOrigin: http://HOST\r\n", b"403"),
        (b"Content-Length: 0\r\nOrigin: http://[\r\n", b"403"),
    ],
    ids=["two lengths", "two origins", "no origin"],
)
def test_ambiguous_fields_are_refused(fields, status, server):
    address = server()
    host = b"127.0.0.1:%d" % address[1]
    head = b"POST /api/predict HTTP/1.1\r\nHost: HOST\r\n" + fields + b"\r\n0\r\n\r\n"
    with connect(address) as connection:
        connection.sendall(head.replace(b"HOST", host))
        answer = connection.recv(4096)
        assert answer.split()[1] == status
        if status == b"400":
            assert b"connection: close" in answer.lower()


@pytest.mark.parametrize(
    "sent",
    [
        b"\x00\xff\r\n\r\n",
        b"GET / HTTP/9\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n",
        HEAD.replace(b"Content-Length: 10", b"Transfer-Encoding: chunked") + b"\r\nno chunk\r\n",
    ],
    ids=["no HTTP", "version", "two hosts", "two lengths", "encoding", "chunk"],
)
def test_what_can_not_be_parsed_is_answered_in_json_and_ends_the_connection(sent, server):
    with connect(server()) as client:
        client.sendall(sent)
        head, _, body = _everything(client).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400")
    assert b"application/json" in head
    assert "not valid HTTP" in json.loads(body)["error"]


def test_a_broken_chunk_while_an_answer_is_sent_only_ends_the_connection(server, caplog):
    address = server()
    head = HEAD.replace(b"Content-Length: 10", b"Transfer-Encoding: chunked")
    with connect(address) as client:  # refused by its path, before its body has come
        client.sendall(head.replace(b"predict", b"nothing") + b"\r\n")
        assert client.recv(100).startswith(b"HTTP/1.1 404")
        client.sendall(b"no chunk\r\n")
        _everything(client)
    assert post(address, b"x").status_code == 200
    assert not caplog.records


def test_one_client_leaves_connections_and_memory_to_others(server):
    address = server(max_connections=10, max_held=100, max_bytes=100)
    held = [connect(address) for _ in range(5)]
    try:
        with connect(address) as client:
            answer = _everything(client)
        assert answer.startswith(b"HTTP/1.1 503")
        assert b'{"error": "too many connections' in answer
        held[0].sendall(HEAD.replace(b"10", b"60") + b"\r\n" + b"x" * 40)
        with socket.create_connection(address, 10, ("127.0.0.2", 0)) as other:
            other.sendall(HEAD.replace(b"10", b"40") + b"\r\n" + b"x" * 40)
            assert b"200 OK" in other.recv(4096)
        held[1].sendall(HEAD.replace(b"10", b"40") + b"\r\n" + b"x" * 40)
        assert b"503" in held[1].recv(4096)
    finally:
        for client in held:
            client.close()


def test_costly_images_wait_for_each_other_only_and_few_of_them(server, monkeypatch):
    monkeypatch.setattr(worker_threads, "is_costly", lambda data, _: data == b"wait")
    echo = Echo()
    address = server(answers=echo, max_costly=2)
    with ThreadPoolExecutor(6) as threads:
        jobs = [threads.submit(post, address, b"wait") for _ in range(6)]
        _until(lambda: sum(job.done() for job in jobs) == 3)
        assert [post(address, b"x").status_code for _ in range(3)] == [200] * 3
        echo.go_on.set()
        answers = [job.result() for job in jobs]
    assert sorted(answer.status_code for answer in answers) == [200] * 3 + [503] * 3
    refused(next(a for a in answers if a.status_code == 503), 503, "large images")


def _is_refused(client):
    try:
        return client.recv(100).startswith(b"HTTP/1.1 503")
    except TimeoutError:
        return False


def _everything(client):
    return b"".join(iter(lambda: client.recv(4096), b""))
