"""Clients that attack a server, all at once, in a process of their own.

They have addresses of their own (127.0.0.2, …), as limits are for each client.
"""

import socket
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import httpx

HEAD = b"POST /api/predict HTTP/1.1\r\nHost: localhost\r\n"
NONSENSE = (
    b"\x00\xff\r\n\r\n",
    HEAD + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    HEAD + b"Origin: http://a\r\nOrigin: http://b\r\nContent-Length: 0\r\n\r\n",
    HEAD + b"Host: localhost\r\n\r\n",
)


def attack(port, files, pipe):
    """Attack until something comes through the pipe; send how often each status was answered."""
    stop, statuses = threading.Event(), []

    def connect(source):
        return socket.create_connection(("127.0.0.1", port), 10, (source, 0))

    def post(body, source):
        transport = httpx.HTTPTransport(local_address=source)
        with httpx.Client(transport=transport, timeout=60, trust_env=False) as client:
            answer = client.post(f"http://127.0.0.1:{port}/api/predict", content=body)
            statuses.append(answer.status_code)

    def send_nonsense(source):
        for sent in NONSENSE:
            with connect(source) as client:
                client.sendall(sent)
                client.recv(4096)

    def take_connections(source):
        held = []
        try:
            for _ in range(200):
                held.append(connect(source))
            held[0].sendall(HEAD)
            time.sleep(0.5)
        finally:
            for client in held:
                client.close()

    def upload_slowly(source):
        with connect(source) as client:
            client.sendall(HEAD + b"Content-Length: 30000000\r\n\r\n" + bytes(1 << 20))
            stop.wait(1)

    def repeat(number, work):
        while not stop.is_set():
            try:
                work(f"127.0.0.{2 + number}")
            except (OSError, httpx.HTTPError):
                time.sleep(0.01)

    works = [send_nonsense, take_connections, upload_slowly]
    for name, body in files.items():
        works += [partial(post, body)] * (10 if name.startswith("large") else 1)
    with ThreadPoolExecutor(len(works)) as threads:
        for number, work in enumerate(works):
            threads.submit(repeat, number, work)
        pipe.recv()
        stop.set()
    pipe.send(Counter(statuses))
