"""Decoding in processes of their own, so that a decoder that hangs or crashes costs one image.

Files whose cost is hidden (`visualwords.decoding`) are always decoded this way, all other files
only inside `isolated_decoding`, which servers use: starting a process takes a third of a second,
and pixels that come back through a pipe a millisecond per megapixel.
"""

import atexit
import math
import os
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

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
STEP = 0.5  # seconds between looks at a decoder

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
    """Whether every image is to be decoded in a process of its own."""
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
        decoder = None if is_large else _take_idle()
        try:
            decoder = decoder or _Decoder()
        except OSError:
            return None
        try:
            return decoder.decode(data, mode, max_pixels, max_side, n_pixels)
        finally:
            with _lock:  # one that decoded a large image ends: its memory is given back
                is_kept = decoder.is_ready and not is_large and len(_idle) < MOST_IDLE
                if is_kept:
                    _idle.append(decoder)
            if not is_kept:
                decoder.end()


def close() -> None:
    """End the processes that are idle."""
    while (decoder := _take_idle()) is not None:
        decoder.end()


def _take_idle() -> "_Decoder | None":
    with _lock:
        while _idle:
            decoder = _idle.pop()
            if decoder.process.poll() is None:
                return decoder
            decoder.end()  # it was ended while it was idle
    return None


def _forget_those_of_the_parent() -> None:
    global _lock, _large
    _of_the_parent.extend(_idle)
    _idle.clear()
    _lock, _large = threading.Lock(), threading.Lock()


atexit.register(close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_those_of_the_parent)


class _Decoder:
    """One process that decodes, one image at a time.

    Attributes
    ----------
    process : Popen
    is_ready : bool
        Whether it has answered all that it was asked.
    """

    def __init__(self) -> None:
        if not sys.executable:
            raise OSError("the interpreter is not known")
        # -P: a folder of images may have a numpy.py. A session of its own, or on Windows a group:
        # Ctrl-C is the parent's.
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "visualwords.decoding"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
        self._requests: Any = self.process.stdin
        self._answers: Any = self.process.stdout
        self.is_ready = self._is_late = False
        self._start_seconds = START_SECONDS

    def decode(
        self, data: bytes, mode: str, max_pixels: int, max_side: int | None, n_pixels: int
    ) -> np.ndarray:
        """Send a file; return its pixels."""
        self.is_ready = False
        memory = MEMORY + MEMORY_PER_PIXEL * n_pixels
        seconds = SECONDS + SECONDS_PER_PIXEL * n_pixels
        head = REQUEST.pack(len(data), max_pixels, max_side or 0, memory, seconds, mode == "grey")
        done = threading.Event()
        patience = PATIENCE * seconds + self._start_seconds
        threading.Thread(target=self._kill_if_late, args=(patience, done), daemon=True).start()
        try:
            for part in head, data:
                self._requests.write(part)
            self._requests.flush()
            kind, *sizes = ANSWER.unpack(self._receive(ANSWER.size))
            self._start_seconds = 0.0
            shape = sizes[:1] if kind == REFUSED else sizes if sizes[2] else sizes[:2]
            content = self._receive(math.prod(shape))
            self.is_ready = True
        except (OSError, EOFError):
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(1.0)
            has_signal = hasattr(signal, "SIGPROF")
            out_of_time = has_signal and self.process.returncode == -signal.SIGPROF
            if self._is_late or out_of_time:
                sentence = f"damaged file (its decoder took longer than {seconds:.0f} s)"
                raise errors.DamagedImageError(sentence) from None
            raise errors.CrashedDecoderError("damaged file (its decoder crashed)") from None
        finally:
            done.set()
        if kind == REFUSED:
            name, _, text = content.decode().partition("\n")
            raise getattr(errors, name)(text)
        return np.frombuffer(content, np.uint8).reshape(shape)

    def _kill_if_late(self, seconds: float, done: threading.Event) -> None:
        """End the process unless it is done in time; time in which this process is stopped is free.

        Steps are counted, not the clock: Ctrl-Z stops this process but not the decoders.
        """
        for _ in range(1 + int(seconds / STEP)):
            if done.wait(STEP):
                return
        self._is_late = True
        self.process.kill()

    def _receive(self, n_bytes: int) -> bytearray:
        content = bytearray(n_bytes)
        if self._answers.readinto(content) < n_bytes:
            raise EOFError
        return content

    def end(self) -> None:
        """End the process, whatever it does."""
        self.process.kill()
        self.process.wait()
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
            pixels = np.ascontiguousarray(pixels)
        except (errors.ImageError, MemoryError) as problem:
            if isinstance(problem, MemoryError):
                sentence = "decoding it needs more memory than is allowed"
                problem = errors.ImageTooLargeError(sentence)
            text = f"{type(problem).__name__}\n{problem}".encode("utf-8", "replace")
            answers.write(ANSWER.pack(REFUSED, len(text), 0, 0) + text)
        else:
            answers.write(ANSWER.pack(PIXELS, *(*pixels.shape, 0)[:3]))
            answers.write(pixels.data)
        _limit(0, 0.0)
        answers.flush()


def _limit(memory: int, seconds: float) -> None:
    """Bound further memory (0: no limit) and processor time (0: no limit) of this process."""
    if resource is None:
        return
    signal.setitimer(signal.ITIMER_PROF, seconds)  # its signal ends the process
    now, hard = resource.getrlimit(resource.RLIMIT_AS)
    soft = hard
    with suppress(OSError, ValueError), open("/proc/self/statm", "rb") as file:  # Linux only
        if memory:
            limit = memory + int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
            soft = limit if hard == resource.RLIM_INFINITY else min(hard, limit)
    if soft != now:  # macOS, where the memory is not known, refuses some limits that it reports
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
