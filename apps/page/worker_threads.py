"""The threads that process images, while the event loop keeps answering."""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from starlette.requests import Request

from visualwords.apps.page.clients import client_of
from visualwords.apps.page.limits import Limits
from visualwords.apps.page.refusals import RefusedError
from visualwords.images import is_costly

COSTLY = object()  # what is found of an image that is to wait for others
MOST_CLIENTS = 1000  # whose use is remembered


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

    @property
    def n_inside(self) -> int:
        """How many images are worked on or wait."""
        return self._common.n_inside + self._costly.n_inside

    async def run(
        self, request: Request, work: Callable[..., Any], data: bytes, *arguments: Any
    ) -> Any:
        """Work on an image of a request; not started if the client has disconnected."""
        client = client_of(request.client.host if request.client else "")
        gone = asyncio.ensure_future(_disconnection(request))
        try:
            found = await self._common.run(
                client, gone, self._unless_costly, work, data, *arguments
            )
            if found is COSTLY:
                found = await self._costly.run(client, gone, work, data, *arguments)
            return found
        finally:
            gone.cancel()

    def _unless_costly(self, work: Callable[..., Any], data: bytes, *arguments: Any) -> Any:
        return COSTLY if is_costly(data, self.limits.max_pixels) else work(data, *arguments)

    def close(self) -> None:
        """Start no more work."""
        self._common.close()
        self._costly.close()


class _Lane:
    """Threads that clients share fairly: next is the client that has had the least of their time.

    A client that asks for less than its share never waits behind the queues of others, however
    long these are; time in which a client asks for nothing is not saved up.
    """

    def __init__(self, n_threads: int, max_waiting: int, what: str):
        self.most = n_threads + max_waiting
        self.what = what
        self.n_inside = 0
        self._n_free = n_threads
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}  # by client, in their order
        self._used: dict[str, float] = {}  # seconds of threads that clients have had
        self._least = 0.0  # what the client had that was served last: others begin there
        self._executor = ThreadPoolExecutor(n_threads, "visualwords-page")

    async def run(
        self,
        client: str,
        gone: "asyncio.Future[None]",
        work: Callable[..., Any],
        *arguments: Any,
    ) -> Any:
        if self.n_inside >= self.most and not self._makes_room(client):
            raise self._refusal()
        loop = asyncio.get_running_loop()
        self.n_inside += 1
        turn: asyncio.Future[None] = loop.create_future()
        self._waiting.setdefault(client, deque()).append(turn)
        self._start_next()
        try:
            await _unless_gone(turn, gone)
        except BaseException:
            self._leave(client, turn)
            raise
        begin = time.monotonic()
        job = loop.run_in_executor(self._executor, work, *arguments)
        job.add_done_callback(lambda _: self._finish(client, time.monotonic() - begin))
        return await _unless_gone(job, gone)

    def close(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _makes_room(self, client: str) -> bool:
        """Refuse the last image of the client that has most waiting, if it has more than this."""
        longest = max(self._waiting.values(), key=len, default=deque())
        if len(longest) <= 1 + len(self._waiting.get(client, ())):
            return False
        longest.pop().set_exception(self._refusal())
        return True

    def _refusal(self) -> RefusedError:
        sentence = f"too many {self.what} are waiting; try again in a moment"
        return RefusedError(503, sentence, {"retry-after": "1"})

    def _start_next(self) -> None:
        """Give free threads to waiting clients."""
        while self._n_free and self._waiting:
            client = min(self._waiting, key=self._used_by)
            self._least = self._used_by(client)
            self._n_free -= 1
            turn = self._waiting[client].popleft()
            if not self._waiting[client]:
                del self._waiting[client]
            turn.set_result(None)

    def _used_by(self, client: str) -> float:
        return max(self._used.get(client, 0.0), self._least)

    def _leave(self, client: str, turn: "asyncio.Future[None]") -> None:
        """Take an image out that is not worked on: it was refused, or its client has gone."""
        queue = self._waiting.get(client, deque())
        if turn in queue:
            queue.remove(turn)
        elif turn.done() and not turn.cancelled() and turn.exception() is None:
            self._n_free += 1  # its turn had come
        if client in self._waiting and not queue:
            del self._waiting[client]
        self.n_inside -= 1
        self._start_next()

    def _finish(self, client: str, seconds: float) -> None:
        self._used[client] = self._used_by(client) + seconds
        if len(self._used) > MOST_CLIENTS:  # others are as those that never came
            self._used = {one: had for one, had in self._used.items() if had > self._least}
        self.n_inside -= 1
        self._n_free += 1
        self._start_next()


async def _unless_gone(wanted: "asyncio.Future[Any]", gone: "asyncio.Future[None]") -> Any:
    """Return what is wanted, unless the client disconnects first; work that has begun goes on."""
    await asyncio.wait({wanted, gone}, return_when=asyncio.FIRST_COMPLETED)
    if not wanted.done():
        wanted.add_done_callback(_forget)
        raise RefusedError(400, "the client has disconnected")
    return wanted.result()


def _forget(job: "asyncio.Future[Any]") -> None:
    """Look at the result of what nobody waits for, or asyncio would report its error."""
    if not job.cancelled():
        job.exception()


async def _disconnection(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
