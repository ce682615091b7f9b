"""Handle Ctrl-C within a second, whatever compiled code is running.

Python raises ``KeyboardInterrupt`` between two bytecode instructions. A compiled loop can delay
that by seconds; this gives the program a moment to stop by itself and then ends the process.
Nothing is lost by that: files get their names only when they are complete.
"""

import os
import signal
import socket
import sys
import threading
import time
from types import FrameType

from visualwords.apps.command_line.exit_codes import INTERRUPTED

PATIENCE = 1.0  # seconds between Ctrl-C and the end


def answer_ctrl_c_in_time() -> None:
    """Start to watch for Ctrl-C; only for a program that owns the process."""
    signal.signal(signal.SIGINT, _interrupt_once)
    sys.unraisablehook = _pass_over_interruption
    receiving, sending = socket.socketpair()
    sending.setblocking(False)
    signal.set_wakeup_fd(sending.fileno(), warn_on_full_buffer=False)
    watcher = threading.Thread(target=_watch, args=(receiving, sending), daemon=True)
    watcher.start()


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
