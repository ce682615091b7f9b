"""Decoding in processes of their own, so that a decoder that hangs or crashes costs one image.

Files whose cost is hidden (`visualwords.decoding`) are always decoded this way, all other files
only inside `isolated_decoding`, which servers use: starting a process takes a third of a second,
and pixels that come back through a pipe a millisecond per megapixel.
"""

import atexit
import os
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import IO

import numpy as np

from visualwords import errors

try:
    import resource
except ImportError:  # Windows: the clock of the process that waits is the only limit
    resource = None  # type: ignore[assignment]

REQUEST = struct.Struct("<QQQQd?")  # file bytes, max_pixels, max_side or 0, memory, seconds, grey
ANSWER = struct.Struct("<BQQQ")  # kind of answer; height, width, channels or 0; or bytes of a text
PIXELS, REFUSED = 0, 1
SECONDS = 5.0  # of processor time for an image,
SECONDS_PER_PIXEL = 0.25e-6  # and for each of its pixels
PATIENCE = 6.0  # times as much by the clock, for a machine that is busy
MEMORY = 256 << 20  # bytes for an image,
MEMORY_PER_PIXEL = 24  # and for each of its pixels
LARGE = 16_000_000  # pixels; of larger images one at a time is decoded
MOST_IDLE = max(2, (os.cpu_count() or 1) // 2)  # processes that are kept for the next images
START_SECONDS = 60.0  # for a process to start
OUT_OF_TIME = [-signal.SIGPROF] if hasattr(signal, "SIGPROF") else []  # return codes
STEP = 0.5  # seconds between looks at a decoder
PIECE = 1 << 20

_idle: list["_Decoder"] = []  # the last one was used last
_of_the_parent: list["_Decoder"] = []  # after a fork: kept, and never used
_lock = threading.Lock()
_large = threading.Lock()
_n_isolating = 0


@contextmanager
def isolated_decoding() -> Iterator[None]:
    """Decode every image in a process of its own while the block runs, in all threads."""
    global _n_isolating
    with _lock:
        _n_isolating += 1
    try:
        yield
    finally:
        with _lock:
            _n_isolating -= 1
        close()


def is_isolated() -> bool:
    """Return whether every image is to be decoded in a process of its own."""
    return _n_isolating > 0


def decode_isolated(
    data: bytes, mode: str, max_pixels: int, max_side: int | None, n_pixels: int
) -> np.ndarray | None:
    """Decode in a process with limits of time and memory; None if no process can be started.

    Parameters
    ----------
    data, mode, max_pixels, max_side : as in `visualwords.images.read_image`
    n_pixels : by the header

    Raises
    ------
    ImageError
        That of the decoder; a `DamagedImageError` where it exceeds the time, and a
        `CrashedDecoderError` where it crashes.
    """
    is_large = n_pixels > LARGE
    with _large if is_large else nullcontext():
        # One that is ended afterwards is not taken from those that wait for other images.
        decoder = _take(fresh=is_large)
        if decoder is None:
            return None
        is_reusable = False
        try:
            pixels = decoder.decode(data, mode, max_pixels, max_side, n_pixels)
            is_reusable = not is_large  # else its memory is given back
            return pixels
        except errors.ImageError:
            is_reusable = decoder.is_running and not is_large
            raise
        finally:
            with _lock:
                is_kept = is_reusable and len(_idle) < MOST_IDLE
                if is_kept:
                    _idle.append(decoder)
            if not is_kept:
                decoder.end()


def close() -> None:
    """End the processes that are idle."""
    with _lock:
        ended = _idle[:]
        _idle.clear()
    for decoder in ended:
        decoder.end()


def _take(fresh: bool) -> "_Decoder | None":
    while True:
        with _lock:
            decoder = _idle.pop() if _idle and not fresh else None
        if decoder is None:
            try:
                return _Decoder()
            except OSError:
                return None
        if decoder.is_running:
            return decoder
        decoder.end()  # it was ended while it was idle


def _forget_those_of_the_parent() -> None:
    global _lock, _large
    _of_the_parent.extend(_idle)
    _idle.clear()
    _lock, _large = threading.Lock(), threading.Lock()


atexit.register(close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_those_of_the_parent)


class _Decoder:
    """One process that decodes, one image at a time."""

    def __init__(self) -> None:
        if not sys.executable:
            raise OSError("the interpreter is not known")
        # -P: a folder of images may have a numpy.py. A session of its own, or on Windows a group:
        # Ctrl-C is the parent's.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "visualwords.decoding"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests, self._answers = self._process.stdin, self._process.stdout
        self._is_started = self._is_late = False

    @property
    def is_running(self) -> bool:
        """Whether the process has not ended, as far as the system knows."""
        return self._process.poll() is None

    def decode(
        self, data: bytes, mode: str, max_pixels: int, max_side: int | None, n_pixels: int
    ) -> np.ndarray:
        """Send a file; return its pixels."""
        memory, seconds = _limits(n_pixels)
        head = REQUEST.pack(len(data), max_pixels, max_side or 0, memory, seconds, mode == "grey")
        patience = PATIENCE * seconds + START_SECONDS * (not self._is_started)
        done = threading.Event()
        threading.Thread(target=self._kill_if_late, args=(patience, done), daemon=True).start()
        try:
            for content in head, data:
                left = memoryview(content)
                while left:
                    left = left[self._requests.write(left[:PIECE]) :]
            kind, *sizes = ANSWER.unpack(self._receive(ANSWER.size))
            self._is_started = True
            if kind == PIXELS:
                shape = tuple(sizes if sizes[2] else sizes[:2])
                return np.frombuffer(self._receive(int(np.prod(shape))), np.uint8).reshape(shape)
            name, _, text = self._receive(sizes[0]).decode().partition("\n")
        except (OSError, EOFError):
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(1.0)
            if self._is_late or self._process.returncode in OUT_OF_TIME:
                sentence = f"damaged file (its decoder took longer than {seconds:.0f} s)"
                raise errors.DamagedImageError(sentence) from None
            raise errors.CrashedDecoderError("damaged file (its decoder crashed)") from None
        finally:
            done.set()
        raise getattr(errors, name)(text)

    def _kill_if_late(self, seconds: float, done: threading.Event) -> None:
        """End the process unless it is done in time; time in which this process is stopped is free.

        Steps are counted, not the clock: Ctrl-Z stops this process but not the decoders.
        """
        for _ in range(1 + int(seconds / STEP)):
            if done.wait(STEP):
                return
        self._is_late = True
        self._process.kill()

    def _receive(self, n_bytes: int) -> bytearray:
        content = bytearray(n_bytes)
        left = memoryview(content)
        while left:
            n_read = self._answers.readinto(left[:PIECE])  # type: ignore[attr-defined]
            if not n_read:
                raise EOFError
            left = left[n_read:]
        return content

    def end(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.wait()
        for pipe in self._requests, self._answers:
            with suppress(OSError):
                pipe.close()


# What the process does


def serve(decode: Callable[[bytes, str, int, int | None], np.ndarray]) -> None:
    """Read files from the standard input and write their pixels, until the input ends.

    A limit of processor time, or of memory, ends this process at any point, even inside a decoder.
    """
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is not to be taken for an answer
    while head := requests.read(REQUEST.size):
        n_bytes, max_pixels, max_side, memory, seconds, is_grey = REQUEST.unpack(head)
        data = requests.read(n_bytes)
        _limit(memory, seconds)
        try:
            pixels = decode(data, "grey" if is_grey else "rgb", max_pixels, max_side or None)
        except errors.ImageError as problem:
            _refuse(answers, problem)
        except MemoryError:
            sentence = "decoding it needs more memory than is allowed"
            _refuse(answers, errors.ImageTooLargeError(sentence))
        else:
            answers.write(ANSWER.pack(PIXELS, *(*pixels.shape, 0)[:3]))
            answers.write(np.ascontiguousarray(pixels).data)
        _limit(0, 0.0)
        answers.flush()


def _refuse(answers: IO[bytes], problem: errors.ImageError) -> None:
    text = f"{type(problem).__name__}\n{problem}".encode("utf-8", "replace")
    answers.write(ANSWER.pack(REFUSED, len(text), 0, 0) + text)


def _limits(n_pixels: int) -> tuple[int, float]:
    """Return the bytes of memory and the seconds that an image may take."""
    return MEMORY + MEMORY_PER_PIXEL * n_pixels, SECONDS + SECONDS_PER_PIXEL * n_pixels


def _limit(memory: int, seconds: float) -> None:
    """Bound further memory (0: no limit) and processor time (0: no limit) of this process."""
    if resource is None:
        return
    signal.setitimer(signal.ITIMER_PROF, seconds)  # its signal ends the process
    now, hard = resource.getrlimit(resource.RLIMIT_AS)
    soft = hard
    if memory and (taken := _address_space()):
        soft = taken + memory if hard == resource.RLIM_INFINITY else min(hard, taken + memory)
    if soft != now:  # macOS, where the memory is not known, refuses some limits that it reports
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _address_space() -> int:
    """Return the bytes of address space that this process has; 0 where that is not known."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0
