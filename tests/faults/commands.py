"""classify-images in processes of its own: forked from a warm server, so that many cost little.

The server has imported everything and computed nothing. A command of it is a process like any
other: it can be killed, interrupted and run out of disk. What depends on the environment at the
start of Python (`run_from_shell`) pays for the imports.
"""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

COMMAND = [sys.executable, "-m", "visualwords.apps.classify_images"]
PATIENCE = 300  # seconds until a process is said to hang

server = multiprocessing.get_context("forkserver")
server.set_forkserver_preload(
    ["visualwords.apps.classify_images.main", "visualwords.apps.pipeline.classifier"]
)


@dataclass(frozen=True)
class Done:
    """A command that has ended."""

    code: int
    output: str


class Running:
    """A command that has begun; what it prints goes to a file."""

    def __init__(self, arguments, log, setup=None):
        self.log = Path(log)
        self.log.unlink(missing_ok=True)
        self.process = server.Process(
            target=_run, args=([str(a) for a in arguments], str(log), setup)
        )
        self.process.start()
        wait_until(self.log.exists)

    def wait(self) -> Done:
        self.process.join(PATIENCE)
        if self.process.exitcode is None:
            self.process.kill()
            raise TimeoutError(
                f"still running after {PATIENCE} s: {self.log.read_text(encoding='utf-8')}"
            )
        return Done(
            self.process.exitcode, self.log.read_text(encoding="utf-8") if self.log.exists() else ""
        )

    def send(self, number: int) -> None:
        """Send a signal, unless the command has ended."""
        with suppress(ProcessLookupError):
            os.kill(self.process.pid, number)


def wait_until(condition) -> None:
    """When a condition holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"not after {PATIENCE} s: {condition}")
        time.sleep(0.001)


def run(*arguments, log, setup=None) -> Done:
    """Run a command to its end; ``setup`` is called in its process before."""
    return Running(arguments, log, setup).wait()


def run_from_shell(*arguments, environment=None, **options) -> Done:
    """Run a command as a shell does: a new interpreter in the given environment."""
    done = subprocess.run(
        [*COMMAND, *map(str, arguments)],
        env=dict(os.environ) if environment is None else environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        **options,
    )
    return Done(done.returncode, done.stdout + done.stderr)


def exit_code_of(work, *arguments) -> int:
    """Call a function in a process of its own, as its faults may end the process."""
    process = server.Process(target=work, args=arguments)
    process.start()
    process.join(PATIENCE)
    process.kill()
    process.join()
    return process.exitcode


def _run(arguments, log, setup):
    from visualwords.apps.command_line.process import run_installed

    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # until the command can answer it
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which nohup ignores
    if setup is not None:
        setup()
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    sys.argv = ["classify-images", *arguments]
    run_installed(_main)


def _main():
    from visualwords.apps.classify_images.main import main

    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    return main()
