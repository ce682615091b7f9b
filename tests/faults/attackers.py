"""Clients that attack a server, all at once, in a process of their own.

    python -m tests.faults.attackers PORT FOLDER        until its input ends

They have addresses of their own (127.0.0.2, …), as limits are for each client, and send the files
of a folder. In the end it prints the statuses of all answers and how often each was given, as JSON.
"""

import json
import socket
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

HEAD = b"POST /api/predict HTTP/1.1\r\nHost: localhost\r\n"


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


def main(port: str, folder: str) -> None:
    """Attack until the input ends."""
    attack = Attack(int(port), {path.name: path.read_bytes() for path in Path(folder).iterdir()})
    works = list(attack.works())
    with ThreadPoolExecutor(len(works)) as threads:
        for number, work in enumerate(works):
            threads.submit(attack.run, number, work)
        sys.stdin.read()
        attack.stop.set()
    print(json.dumps(Counter(attack.statuses)))


if __name__ == "__main__":
    main(*sys.argv[1:])
