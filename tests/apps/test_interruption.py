"""Ctrl-C ends the process in time, even while compiled code keeps the interpreter waiting."""

import signal
import subprocess
import sys
import time

BUSY = """
import hashlib
from visualwords.apps.interruption import answer_ctrl_c_in_time
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
