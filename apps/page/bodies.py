"""Reading the image of a request, with limits on its size, its time and all memory."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.requests import ClientDisconnect, Request

from visualwords.apps.page.clients import client_of
from visualwords.apps.page.limits import Limits
from visualwords.apps.page.refusals import RefusedError

CLOSE = {"connection": "close"}
DRAIN_SECONDS = 2.0


class Bodies:
    """Holds the bodies of all requests that are being answered.

    Parameters
    ----------
    limits : Limits
    """

    def __init__(self, limits: Limits):
        self.limits = limits
        self.held = 0
        self.held_of: Counter[str] = Counter()  # by client

    @asynccontextmanager
    async def hold(self, request: Request) -> AsyncIterator[bytes]:
        """Read a body and count its bytes as held until the block ends."""
        client = client_of(request.client.host if request.client else "")
        chunks: list[bytes] = []
        try:
            try:
                async with asyncio.timeout(self.limits.body_seconds):
                    await self._read(request, client, chunks)
            except TimeoutError:
                sentence = f"the image did not arrive within {self.limits.body_seconds:g} seconds"
                raise RefusedError(408, sentence, CLOSE) from None
            except ClientDisconnect:
                raise RefusedError(
                    400, "the connection ended before the image did", CLOSE
                ) from None
            if not chunks:
                raise RefusedError(400, "the request is empty; send the bytes of an image file")
            chunks[:] = [b"".join(chunks)]  # the parts are freed
            yield chunks[0]
        finally:
            self._count(client, -sum(map(len, chunks)))

    def _count(self, client: str, n_bytes: int) -> None:
        self.held += n_bytes
        self.held_of[client] += n_bytes
        if not self.held_of[client]:
            del self.held_of[client]

    async def _read(self, request: Request, client: str, chunks: list[bytes]) -> None:
        arriving = request.stream()
        if _announced(request) > self.limits.max_bytes:
            if "expect" not in request.headers:  # else the client asks before it sends
                await self._drain(arriving)
            raise self._too_long()
        n_read = 0
        async for chunk in arriving:
            n_read += len(chunk)
            if n_read > self.limits.max_bytes:
                await self._drain(arriving)
                raise self._too_long()
            if self._is_full(client, len(chunk)):
                await self._drain(arriving)
                sentence = "too many images at once; wait a moment and try again"
                raise RefusedError(503, sentence, {"retry-after": "1", **CLOSE})
            if chunk:
                self._count(client, len(chunk))
                chunks.append(chunk)

    def _is_full(self, client: str, more: int) -> bool:
        most = self.limits.max_held
        return self.held + more > most or self.held_of[client] + more > most // 2

    def _too_long(self) -> RefusedError:
        most = self.limits.max_bytes / 2**20
        return RefusedError(413, f"the file is larger than {most:g} MB; send a smaller one", CLOSE)

    async def _drain(self, chunks: AsyncIterator[bytes]) -> None:
        """Discard more of a body: a client reads the answer only when it has sent everything."""
        left = 4 * self.limits.max_bytes
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                async for chunk in chunks:
                    left -= len(chunk)
                    if left < 0:
                        return
        except (TimeoutError, ClientDisconnect):
            return


def _announced(request: Request) -> int:
    """Return the length of the body by its header."""
    announced = request.headers.get("content-length", "0")
    return int(announced) if announced.isdecimal() else 0
