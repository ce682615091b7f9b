"""Ctrl-C that is answered in time, whatever compiled code is running.

Python raises ``KeyboardInterrupt`` between two of its own steps. A compiled loop can make that
wait for seconds; this gives the program a moment to stop by itself and then ends it. Nothing is
lost by that: files get their names only when they are complete.
"""

import os
import signal
import socket
import sys
import threading
import time
from types import FrameType

from visualwords.apps.command_line.commands import INTERRUPTED

PATIENCE = 1.0  # seconds between Ctrl-C and the end


def answer_ctrl_c_in_time() -> None:
    """Watch for Ctrl-C from now on; only for a program that owns the process."""
    signal.signal(signal.SIGINT, _interrupt_once)
    receiving, sending = socket.socketpair()
    sending.setblocking(False)
    signal.set_wakeup_fd(sending.fileno(), warn_on_full_buffer=False)
    watcher = threading.Thread(target=_watch, args=(receiving, sending), daemon=True)
    watcher.start()


def _interrupt_once(number: int, frame: FrameType | None) -> None:
    # A second Ctrl-C would interrupt the answer to the first.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


def _watch(receiving: socket.socket, sending: socket.socket) -> None:
    # The handler in C writes the number of every signal, even while the interpreter is busy.
    # ``sending`` is held here, so that it stays open as long as the watch.
    while signal.SIGINT not in receiving.recv(1):
        pass
    time.sleep(PATIENCE)
    sys.stderr.write("interrupted\n")
    sys.stderr.flush()
    os._exit(INTERRUPTED)
