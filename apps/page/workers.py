"""The threads that process images, while the event loop keeps answering."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from starlette.requests import Request

from visualwords.apps.page.limits import Limits
from visualwords.apps.page.refusals import RefusedError
from visualwords.images import is_costly

Found = TypeVar("Found")
Arguments = ParamSpec("Arguments")


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
        self,
        request: Request,
        work: Callable[..., Found],
        data: bytes,
        *arguments: object,
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
        self._n_free = n_threads + max_waiting  # threads and places in the queue
        self._executor = ThreadPoolExecutor(n_threads, "visualwords-page")

    async def run(
        self,
        gone: "asyncio.Future[None]",
        work: Callable[Arguments, Found],
        *arguments: Arguments.args,
        **named: Arguments.kwargs,
    ) -> Found:
        if not self._n_free:
            sentence = f"too many {self.what} are waiting; try again in a moment"
            raise RefusedError(503, sentence, {"retry-after": "1"})
        self._n_free -= 1
        loop = asyncio.get_running_loop()
        job = self._executor.submit(work, *arguments, **named)
        job.add_done_callback(lambda _: self._leave(loop))  # a cancelled one may still run
        found = asyncio.wrap_future(job)
        await asyncio.wait({found, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not found.done():
            found.cancel()  # and with it the job, unless it has begun
            raise RefusedError(400, "the client has disconnected")
        return found.result()

    def _leave(self, loop: asyncio.AbstractEventLoop) -> None:
        def leave() -> None:
            self._n_free += 1

        if not loop.is_closed():
            loop.call_soon_threadsafe(leave)

    def close(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)


async def _disconnection(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
