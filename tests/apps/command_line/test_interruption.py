"""Ctrl-C ends the process in time, even while compiled code keeps the interpreter waiting."""

import signal
import subprocess
import sys
import time

BUSY = """
import hashlib
from visualwords.apps.command_line.process import answer_ctrl_c_in_time
answer_ctrl_c_in_time()
print("ready", flush=True)
hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)  # compiled, deaf to signals, takes many minutes
"""


def test_ctrl_c_does_not_wait_for_compiled_code():
    process = subprocess.Popen(
        [sys.executable, "-c", BUSY], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.5)  # into the compiled code
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors == "interrupted\n"


FINALIZER = """
import os, signal, time
from visualwords.apps.command_line.process import run_installed

class Busy:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)

def main():
    Busy()
    time.sleep(600)

run_installed(main)
"""


def test_ctrl_c_that_meets_a_finalizer_ends_the_process_without_a_traceback():
    result = subprocess.run([sys.executable, "-c", FINALIZER], capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (130, "interrupted\n")


ENDING = """
import atexit
from visualwords.apps.command_line.process import run_installed
atexit.register(print, "last words")
run_installed(lambda: 3)
"""


def test_the_end_of_a_command_is_a_regular_one():
    result = subprocess.run([sys.executable, "-c", ENDING], capture_output=True, text=True)
    assert (result.returncode, result.stdout, result.stderr) == (3, "last words\n", "")


PATIENT = """
import time
from visualwords.apps.command_line.process import INTERRUPTED, run_installed

def main():
    try:
        print("ready", flush=True)
        time.sleep(600)
    except KeyboardInterrupt:
        print("answering", flush=True)
        time.sleep(0.5)
        print("answered", flush=True)
        return INTERRUPTED

run_installed(main)
"""


def test_a_second_ctrl_c_does_not_interrupt_the_answer_to_the_first():
    process = subprocess.Popen(
        [sys.executable, "-c", PATIENT], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    for said in ("ready\n", "answering\n"):
        assert process.stdout.readline() == said
        process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60) == ("answered\n", "")
    assert process.returncode == 130
