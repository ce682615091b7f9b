"""The server's side of a training process: jobs go in, news come out."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from visualwords.apps.studio.trainer import Job, as_line


class TrainingProcess:
    """A process that trains one model after another; started when it is needed.

    Parameters
    ----------
    news : function of a dict, called in a thread of its own
    """

    def __init__(self, news: Callable[[dict[str, Any]], None]):
        self.news = news
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def start(self) -> None:
        """Start the process, so that the first job need not wait for it."""
        with self._lock:
            self._running()

    def send(self, job: Job) -> None:
        """Give the process a job."""
        with self._lock:
            for _ in range(2):  # it may have died since the last job
                process = self._running()
                with suppress(OSError):
                    process.stdin.write(as_line(job))  # type: ignore[union-attr]
                    process.stdin.flush()  # type: ignore[union-attr]
                    return
                self._process = None
        self.news({"job": job.number, "failed": "the training process can't be started"})

    def stop(self) -> None:
        """End the process, whatever it does; its files are complete or not there."""
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            with suppress(OSError):
                process.stdin.close()  # type: ignore[union-attr]

    def _running(self) -> "subprocess.Popen[bytes]":
        if self._process is None or self._process.poll() is not None:
            # -P: a folder of images may have a numpy.py. A session of its own: Ctrl-C is the
            # server's.
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "visualwords.apps.studio.trainer"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            threading.Thread(target=self._listen, args=(self._process,), daemon=True).start()
        return self._process

    def _listen(self, process: "subprocess.Popen[bytes]") -> None:
        number = 0
        for line in process.stdout:  # type: ignore[union-attr]
            with suppress(ValueError):  # what a library prints
                found = json.loads(line)
                number = found["job"]
                self.news(found)
        process.stdout.close()  # type: ignore[union-attr]
        if process.wait() and self._process is process:
            sentence = "the training process ended early; there may not be enough memory"
            self.news({"job": number, "failed": sentence})
