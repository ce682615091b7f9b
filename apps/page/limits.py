"""The limits of the server."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Bounds on requests, time and memory, whoever sends requests.

    Attributes
    ----------
    max_bytes : of an image file
    max_pixels : of an image; checked by its header, before decoding
    max_held : bytes of all files that are in memory at the same time; half of it for one client
    n_workers : images that are worked on at the same time
    max_waiting : images that wait for a worker
    max_costly : images that wait to be decoded one after the other, because each takes seconds
    max_connections : open at the same time; half of them for one client
    rate, burst : requests that one address may send in a second, and at once
    header_seconds : until the head of a request must have arrived
    body_seconds : until its image must have arrived
    write_seconds : that a client may leave an answer unread
    """

    max_bytes: int = 32 << 20
    max_pixels: int = 64_000_000
    max_held: int = 128 << 20
    n_workers: int = 2
    max_waiting: int = 128
    max_costly: int = 2
    max_connections: int = 256
    rate: float = 100.0
    burst: int = 200
    header_seconds: float = 10.0
    body_seconds: float = 30.0
    write_seconds: float = 20.0
