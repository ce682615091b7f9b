"""Messages between the server and its worker processes: a JSON object and some bytes."""

import array
import json
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

HEAD = struct.Struct("<QQ")  # bytes of the object, and of what follows it
SMALL = 1 << 16  # bytes that are sent together with the object


@dataclass(frozen=True)
class Message:
    """What one process says to another.

    Attributes
    ----------
    fields : dict that JSON can hold
    data : what is better not written in JSON, such as an image file
    sockets : descriptors that came with it; only of processes that were asked to take one
    """

    fields: dict[str, Any]
    data: bytes = b""
    sockets: list[int] = field(default_factory=list)


def send(
    link: socket.socket,
    fields: Mapping[str, Any],
    data: bytes = b"",
    passed: socket.socket | None = None,
) -> None:
    """Send a message; the other process gets a socket of its own for one that is passed."""
    text = json.dumps(fields).encode()
    content = HEAD.pack(len(text), len(data)) + text
    if passed is not None:
        rights = array.array("i", [passed.fileno()])
        n_sent = link.sendmsg([content], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
        content = content[n_sent:]
    if len(data) < SMALL:
        link.sendall(content + data)
    else:  # no copy
        link.sendall(content)
        link.sendall(data)


def receive(link: socket.socket, *, takes_socket: bool = False) -> Message | None:
    """Return the next message; None when the other process has ended, or closed the link.

    Raises
    ------
    EOFError
        If it ends within a message.
    """
    sockets: list[int] = []
    if takes_socket:
        head, sockets, _, _ = socket.recv_fds(link, HEAD.size, 1)
    else:
        head = link.recv(HEAD.size)
    if not head:
        return None
    head += _exactly(link, HEAD.size - len(head))
    n_text, n_data = HEAD.unpack(head)
    fields = json.loads(_exactly(link, n_text))
    return Message(fields, bytes(_exactly(link, n_data)), sockets)


def _exactly(link: socket.socket, n_bytes: int) -> bytearray:
    content = bytearray(n_bytes)
    rest = memoryview(content)
    while rest:
        n_read = link.recv_into(rest)
        if not n_read:
            raise EOFError("the other process ended within a message")
        rest = rest[n_read:]
    return content
