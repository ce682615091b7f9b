"""Decoding in processes of their own, so that a decoder that hangs or crashes costs one image.

Files whose cost is hidden (`visualwords._file_checks`) are always decoded this way, all other
files only inside `isolated_decoding`, which servers use: starting a process takes a third of a
second, and pixels that come back through a pipe a millisecond per megapixel. A process that nobody
misses (`become_expendable`) decodes all but these and large files itself, within the same limits.
"""

import atexit
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress

import numpy as np

from visualwords import errors
from visualwords._process_limits import limit

REQUEST = struct.Struct("<QQQQd?")  # file bytes, max_pixels, max_side or 0, memory, seconds, grey
ANSWER = struct.Struct("<BQQQ")  # kind of answer; height, width, channels or 0; or bytes of a text
PIXELS, REFUSED = 0, 1
SECONDS = 5.0  # of processor time for an image,
SECONDS_PER_PIXEL = 0.25e-6  # and for each of its pixels
PATIENCE = 6.0  # times as much by the clock, for a machine that is busy
MEMORY = 256 << 20  # bytes for an image,
MEMORY_PER_PIXEL = 24  # and for each of its pixels
LARGE = 16_000_000  # pixels; of larger images one at a time is decoded
LOW_PRIORITY = 10  # how nice processes are that decode these, and all that a worker starts
MOST_IDLE = 2  # processes that are kept for good: one that has decoded, and a spare one
REST = 1.0  # second after which others are ended, if so many were never needed at once
START_SECONDS = 60.0  # for a process to start
OUT_OF_TIME = [-signal.SIGPROF] if hasattr(signal, "SIGPROF") else []  # return codes
STEP = 0.5  # seconds between looks at a decoder
PIECE = 1 << 20

_idle: list["_Decoder"] = []  # the last one was used last
_fewest_idle = 0  # since the last look at them
_is_looking = False  # whether a thread ends those that are not needed
_busy: dict["_Decoder", int] = {}  # steps that are left to them
_is_watching = False  # whether a thread counts these
_of_the_parent: list["_Decoder"] = []  # after a fork: kept, and never used
_lock = threading.Lock()
_large = threading.Lock()
_n_isolating = 0
_is_expendable = False  # whether this process may be ended by an image


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


def is_isolated(n_pixels: int) -> bool:
    """Return whether any image of so many pixels is to be decoded in a process of its own."""
    return _n_isolating > 0 or (_is_expendable and n_pixels > LARGE)


def become_expendable() -> None:
    """Let images that this process decodes end it when they take too much time or memory."""
    global _is_expendable
    _is_expendable = True


@contextmanager
def limited_if_expendable(n_pixels: int) -> Iterator[None]:
    """Keep to the limits of an image of so many pixels, in a process that may end."""
    if not _is_expendable:
        yield
        return
    limit(MEMORY + MEMORY_PER_PIXEL * n_pixels, SECONDS + SECONDS_PER_PIXEL * n_pixels)
    try:
        yield
    finally:
        limit(0, 0.0)


def decode_isolated(
    data: bytes, mode: str, max_pixels: int, max_side: int | None, n_pixels: int
) -> np.ndarray:
    """Decode in a process with limits of time and memory.

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
    if n_pixels > LARGE and _is_expendable:
        close()  # their memory is needed
    with _large if n_pixels > LARGE else nullcontext():
        # What is ended afterwards is not taken from those that wait for other images.
        decoder = _start(is_large=True) if n_pixels > LARGE else _take()
        if decoder is None:  # no process can be started
            from visualwords._decoding import decode_here

            return decode_here(data, mode, max_pixels, max_side)
        try:
            pixels = decoder.decode(data, mode, max_pixels, max_side, n_pixels)
        except errors.ImageError:
            _give_back(decoder, n_pixels)
            raise
        except BaseException:
            decoder.end()
            raise
        _give_back(decoder, n_pixels)
        return pixels


def close() -> None:
    """End the processes that are idle."""
    while True:
        with _lock:
            if not _idle:
                return
            decoder = _idle.pop()
        decoder.end()


def _take() -> "_Decoder | None":
    global _fewest_idle
    while True:
        with _lock:
            decoder = _idle.pop() if _idle else None
            _fewest_idle = min(_fewest_idle, len(_idle))
        if decoder is None:
            decoder = _start()
        elif not decoder.is_running:
            decoder.end()  # it was ended while it was idle
            continue
        _keep_a_spare()
        return decoder


def _keep_a_spare() -> None:
    """Start the next process while this one decodes: importing takes a second, or many if busy."""
    if _n_isolating and not _idle and (spare := _start()) is not None:
        with _lock:
            _idle.append(spare)


def _start(is_large: bool = False) -> "_Decoder | None":
    # A worker decodes by others only what takes long: those who asked for little go first.
    niceness = LOW_PRIORITY if is_large or _is_expendable else 0
    try:
        return _Decoder(niceness)
    except OSError:
        return None


def _give_back(decoder: "_Decoder", n_pixels: int) -> None:
    global _fewest_idle, _is_looking
    if n_pixels > LARGE or not decoder.is_alive:
        decoder.end()  # its memory is given back, too
        return
    with _lock:
        _idle.append(decoder)
        if len(_idle) <= MOST_IDLE or _is_looking:
            return
        _fewest_idle, _is_looking = len(_idle), True
    threading.Thread(target=_end_unneeded, daemon=True).start()


def _end_unneeded() -> None:
    """End idle processes beyond the few that are kept, once there was no need of them for a while.

    Starting one takes much longer than decoding an image: ending them at once would let clients
    that ask side by side wait for a new one nearly every time.
    """
    global _fewest_idle, _is_looking
    while True:
        time.sleep(REST)
        with _lock:
            n_unneeded = max(0, min(_fewest_idle, len(_idle)) - MOST_IDLE)
            ended, _idle[:] = _idle[:n_unneeded], _idle[n_unneeded:]
            _fewest_idle, _is_looking = len(_idle), len(_idle) > MOST_IDLE
            goes_on = _is_looking
        for decoder in ended:
            decoder.end()
        if not goes_on:
            return


def _watch(decoder: "_Decoder", seconds: float) -> None:
    """End a process unless it is done in time."""
    global _is_watching
    with _lock:
        _busy[decoder] = 1 + int(seconds / STEP)
        if _is_watching:
            return
        _is_watching = True
    threading.Thread(target=_count_steps, daemon=True).start()


def _count_steps() -> None:
    """End the processes that take too long; time in which this process is stopped is free.

    Steps are counted, not the clock: Ctrl-Z stops this process but not the decoders. One thread
    watches all of them: to start one for each image takes as long as decoding a small one.
    """
    global _is_watching
    while True:
        time.sleep(STEP)
        with _lock:
            if not _busy:
                _is_watching = False
                return
            late = [decoder for decoder, steps in _busy.items() if steps <= 1]
            for decoder in _busy:
                _busy[decoder] -= 1
            for decoder in late:
                del _busy[decoder]
        for decoder in late:
            decoder.kill()


def _forget_those_of_the_parent() -> None:
    global _lock, _large, _is_looking, _is_watching
    _is_looking = _is_watching = False
    _busy.clear()
    _of_the_parent.extend(_idle)
    _idle.clear()
    _lock, _large = threading.Lock(), threading.Lock()


atexit.register(close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_those_of_the_parent)


class _Decoder:
    """One process that decodes, one image at a time; a nice one leaves processors to others."""

    def __init__(self, niceness: int = 0) -> None:
        if not sys.executable:
            raise OSError("the interpreter is not known")
        # -P: a folder of images may have a numpy.py. A session of its own, or on Windows a group:
        # Ctrl-C is the parent's.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "visualwords._isolated"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
        self._is_started = self._is_late = False
        self.is_alive = True
        if niceness:
            _lower_priority(self._process.pid, niceness)

    @property
    def is_running(self) -> bool:
        """Whether the process has not ended, as far as the system knows."""
        return self._process.poll() is None

    def decode(
        self, data: bytes, mode: str, max_pixels: int, max_side: int | None, n_pixels: int
    ) -> np.ndarray:
        """Send a file; return its pixels."""
        seconds = SECONDS + SECONDS_PER_PIXEL * n_pixels
        memory = MEMORY + MEMORY_PER_PIXEL * n_pixels
        patience = PATIENCE * seconds + START_SECONDS * (not self._is_started)
        head = REQUEST.pack(len(data), max_pixels, max_side or 0, memory, seconds, mode == "grey")
        _watch(self, patience)
        try:
            self._send(head)
            self._send(data)
            kind, *sizes = ANSWER.unpack(self._receive(ANSWER.size))
            self._is_started = True
            if kind == PIXELS:
                shape = tuple(sizes if sizes[2] else sizes[:2])
                return np.frombuffer(self._receive(int(np.prod(shape))), np.uint8).reshape(shape)
            name, _, text = self._receive(sizes[0]).decode().partition("\n")
        except (OSError, EOFError):
            self.is_alive = False
            if self._took_too_long():
                sentence = f"damaged file (its decoder took longer than {seconds:.0f} s)"
                raise errors.DamagedImageError(sentence) from None
            raise errors.CrashedDecoderError("damaged file (its decoder crashed)") from None
        finally:
            with _lock:
                _busy.pop(self, None)
        raise getattr(errors, name)(text)

    def kill(self) -> None:
        """End the process because it takes too long."""
        self._is_late = True
        self._process.kill()

    def _took_too_long(self) -> bool:
        """Return whether a process that ended was ended by one of its limits of time."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        return self._is_late or self._process.returncode in OUT_OF_TIME

    def end(self) -> None:
        """End the process, whatever it does."""
        self.is_alive = False
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                pipe.close()  # type: ignore[union-attr]

    def _send(self, content: bytes) -> None:
        rest = memoryview(content)
        while rest:
            rest = rest[self._process.stdin.write(rest[:PIECE]) :]  # type: ignore[union-attr]

    def _receive(self, n_bytes: int) -> bytearray:
        content = bytearray(n_bytes)
        rest = memoryview(content)
        while rest:
            n_read = self._process.stdout.readinto(rest[:PIECE])  # type: ignore[union-attr]
            if not n_read:
                raise EOFError
            rest = rest[n_read:]
        return content


def _lower_priority(process: int, niceness: int) -> None:
    """Let others go before a process that is the first of its session."""
    if hasattr(os, "setpriority"):
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, process, niceness)
    with suppress(OSError), open(f"/proc/{process}/autogroup", "w", encoding="ascii") as file:
        file.write(str(niceness))  # Linux may share processors among sessions first
