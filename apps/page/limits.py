"""The limits of the server: bodies are read and images are worked on within them."""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from threading import Semaphore
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request

from visualwords.apps.page.guards import RefusedError
from visualwords.images import is_costly

Found = TypeVar("Found")

CLOSE = {"connection": "close"}
DRAIN_SECONDS = 2.0


@dataclass(frozen=True)
class Limits:
    """Bounds on requests, time and memory, whoever sends requests.

    Attributes
    ----------
    max_bytes : of an image file
    max_pixels : of an image; checked by its header, before decoding
    max_held : bytes of all files that are in memory at the same time
    n_workers : images that are worked on at the same time
    max_waiting : images that wait for a worker
    max_costly : images that wait to be decoded one after the other, because each takes seconds
    max_connections : open at the same time
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
    max_connections: int = 512
    header_seconds: float = 10.0
    body_seconds: float = 30.0
    write_seconds: float = 20.0


class Bodies:
    """Holds the bodies of all requests that are being answered.

    Parameters
    ----------
    limits : Limits
    """

    def __init__(self, limits: Limits):
        self.limits = limits
        self.held = 0

    @asynccontextmanager
    async def hold(self, request: Request) -> AsyncIterator[bytes]:
        """Read a body and count its bytes as held until the block ends."""
        chunks: list[bytes] = []
        try:
            try:
                async with asyncio.timeout(self.limits.body_seconds):
                    await self._read(request, chunks)
            except TimeoutError:
                sentence = f"the image did not arrive within {self.limits.body_seconds:g} seconds"
                raise RefusedError(408, sentence, CLOSE) from None
            except ClientDisconnect:
                sentence = "the connection ended before the image did"
                raise RefusedError(400, sentence, CLOSE) from None
            if not chunks:
                raise RefusedError(400, "the request is empty; send the bytes of an image file")
            chunks[:] = [b"".join(chunks)]  # the parts are freed
            yield chunks[0]
        finally:
            self.held -= sum(map(len, chunks))

    async def _read(self, request: Request, chunks: list[bytes]) -> None:
        arriving = request.stream()
        announced = request.headers.get("content-length", "0")
        if announced.isdecimal() and int(announced) > self.limits.max_bytes:
            if "expect" not in request.headers:  # else the client asks before it sends
                await self._drain(arriving)
            raise self._too_long()
        n_read = 0
        async for chunk in arriving:
            n_read += len(chunk)
            if n_read > self.limits.max_bytes:
                await self._drain(arriving)
                raise self._too_long()
            if self.held + len(chunk) > self.limits.max_held:
                await self._drain(arriving)
                sentence = "too many images at once; wait a moment and try again"
                raise RefusedError(503, sentence, {"retry-after": "1", **CLOSE})
            if chunk:
                self.held += len(chunk)
                chunks.append(chunk)

    def _too_long(self) -> RefusedError:
        most = self.limits.max_bytes / 2**20
        return RefusedError(413, f"the file is larger than {most:g} MB; send a smaller one", CLOSE)

    async def _drain(self, chunks: AsyncIterator[bytes]) -> None:
        """Discard more of a body: a client reads the answer only when it has sent everything."""
        left = 4 * self.limits.max_bytes
        with suppress(TimeoutError, ClientDisconnect):
            async with asyncio.timeout(DRAIN_SECONDS):
                async for chunk in chunks:
                    left -= len(chunk)
                    if left < 0:
                        return


class Workers:
    """A few threads with a bounded queue, and one more for images that take seconds.

    Those are recognised by their headers. They wait for each other in a short queue of their own,
    so that all others are answered meanwhile, and the memory for pixels is that of one of them.

    Parameters
    ----------
    limits : Limits
        Requests beyond its queues are refused.
    """

    def __init__(self, limits: Limits):
        self.limits = limits
        self._common = _Lane(limits.n_workers, limits.max_waiting, "images")
        self._costly = _Lane(1, limits.max_costly, "large images")

    async def run(
        self, request: Request, work: Callable[..., Found], data: bytes, *arguments: object
    ) -> Found:
        """Work on an image of a request; not started if the client has disconnected."""
        gone = asyncio.ensure_future(_disconnection(request))
        try:
            done, found = await self._common.run(gone, self._unless_costly, work, data, *arguments)
            if not done:
                found = await self._costly.run(gone, work, data, *arguments)
            return found  # type: ignore[return-value]
        finally:
            gone.cancel()

    def _unless_costly(
        self, work: Callable[..., Found], data: bytes, *arguments: object
    ) -> tuple[bool, Found | None]:
        if is_costly(data, self.limits.max_pixels):
            return False, None
        return True, work(data, *arguments)

    def close(self) -> None:
        """Start no more work."""
        self._common.close()
        self._costly.close()


class _Lane:
    """Threads with a bounded queue."""

    def __init__(self, n_threads: int, max_waiting: int, what: str):
        self.what = what
        self._places = Semaphore(n_threads + max_waiting)  # of threads and in the queue
        self._executor = ThreadPoolExecutor(n_threads, "visualwords-page")
        self.close = partial(self._executor.shutdown, wait=False, cancel_futures=True)

    async def run(
        self, gone: "asyncio.Future[None]", work: Callable[..., Found], *arguments: Any
    ) -> Found:
        if not self._places.acquire(blocking=False):
            sentence = f"too many {self.what} are waiting; try again in a moment"
            raise RefusedError(503, sentence, {"retry-after": "1"})
        job = self._executor.submit(work, *arguments)
        job.add_done_callback(lambda _: self._places.release())  # a cancelled one may still run
        found = asyncio.wrap_future(job)
        both: set[asyncio.Future[Any]] = {found, gone}
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if not found.done():
            found.cancel()  # and with it the job, unless it has begun
            raise RefusedError(400, "the client has disconnected")
        return found.result()


async def _disconnection(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
