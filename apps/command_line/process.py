"""A program that owns its process: its streams, Ctrl-C, and its end."""

import gc
import io
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import NoReturn

from visualwords.apps.command_line.verb import FAILED, INTERRUPTED, fail

PATIENCE = 1.0  # seconds between Ctrl-C and the end, where compiled code delays KeyboardInterrupt


def run_installed(main: Callable[[], int]) -> NoReturn:
    """Run a command that owns its process: Ctrl-C ends it within seconds, whatever is running."""
    open_standard_streams()
    code = INTERRUPTED
    with suppress(KeyboardInterrupt):  # main handles it once it has started
        answer_ctrl_c_in_time()
        code = main()
    _end(code)


def open_standard_streams() -> None:
    """Replace closed streams, and let none fail on characters that it can't encode.

    A closed stream's number would go to the next file that is opened. On Windows, files and pipes
    get UTF-8, unless PYTHONIOENCODING names another encoding, instead of a code page with few
    characters; and the lines' ends as they are, since those of CSV have a carriage return already.
    """
    for name, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            with suppress(OSError):
                while os.open(os.devnull, os.O_RDWR) < number:
                    pass
            mode = "r" if number == 0 else "w"
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            if sys.platform == "win32" and not stream.isatty():
                named = "PYTHONIOENCODING" in os.environ
                stream.reconfigure(encoding=stream.encoding if named else "utf-8", newline="\n")
            stream.reconfigure(errors="backslashreplace")


def _end(code: int) -> NoReturn:
    """End the process."""
    try:
        sys.stdout.flush()
    except OSError as problem:  # the disk is full, or the reader has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # for the flush at the very end
        if not isinstance(problem, BrokenPipeError):
            fail(f"output: {(problem.strerror or str(problem)).lower()}")
        code = code or FAILED
    if code == INTERRUPTED:
        # Threads may still be decoding; a regular exit would finalize the interpreter under them
        # and abort. Incomplete files have only temporary names.
        os._exit(code)
    gc.freeze()  # skips a last search for reference cycles, which takes 0.2 s
    sys.exit(code)


def answer_ctrl_c_in_time() -> None:
    """Start to watch for Ctrl-C; only for a program that owns the process.

    Python raises ``KeyboardInterrupt`` between two bytecode instructions, which a compiled loop
    can delay by seconds. The program gets `PATIENCE` to stop by itself, then the process ends.
    Nothing is lost by that: files get their names only when they are complete.
    """
    signal.signal(signal.SIGINT, _interrupt_once)
    sys.unraisablehook = _pass_over_interruption
    receiving, sending = socket.socketpair()
    sending.setblocking(False)
    signal.set_wakeup_fd(sending.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(receiving, sending), daemon=True).start()


def _interrupt_once(number: int, frame: FrameType | None) -> None:
    # A second Ctrl-C would interrupt the handling of the first.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


def _pass_over_interruption(unraisable: "sys.UnraisableHookArgs") -> None:
    """Print what a finalizer can't raise, unless Ctrl-C met it there; `_watch` ends the process."""
    if not issubclass(unraisable.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)


def _watch(receiving: socket.socket, sending: socket.socket) -> None:
    # The handler in C writes the number of every signal, even while the interpreter is busy.
    # The argument ``sending`` keeps the socket open as long as the thread runs.
    while signal.SIGINT not in receiving.recv(1):
        pass
    time.sleep(PATIENCE)
    sys.stderr.write("interrupted\n")
    sys.stderr.flush()
    os._exit(INTERRUPTED)
