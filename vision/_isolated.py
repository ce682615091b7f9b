"""The program of a decoding process: reads files from its input, writes pixels to its output.

It is started by `visualwords.isolation`. A limit of processor time, or of memory, ends it at any
point, even inside a decoder.
"""

import os
import sys
from typing import BinaryIO

import numpy as np

from visualwords import errors
from visualwords._decoding import decode_here
from visualwords._process_limits import limit
from visualwords.isolation import ANSWER, PIXELS, REFUSED, REQUEST


def main() -> None:
    """Decode until the input ends."""
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is not to be taken for an answer
    while head := requests.read(REQUEST.size):
        n_bytes, max_pixels, max_side, memory, seconds, grey = REQUEST.unpack(head)
        data = requests.read(n_bytes)
        limit(memory, seconds)
        try:
            mode = "grey" if grey else "rgb"
            pixels = decode_here(data, mode, max_pixels, max_side or None)
        except (errors.ImageError, MemoryError) as problem:
            _refuse(answers, problem)
        else:
            height, width = pixels.shape[:2]
            channels = 0 if pixels.ndim == 2 else pixels.shape[2]
            answers.write(ANSWER.pack(PIXELS, height, width, channels))
            answers.write(np.ascontiguousarray(pixels).data)
        limit(0, 0.0)
        answers.flush()


def _refuse(answers: BinaryIO, problem: Exception) -> None:
    if isinstance(problem, MemoryError):
        problem = errors.ImageTooLargeError("decoding it needs more memory than is allowed")
    text = f"{type(problem).__name__}\n{problem}".encode("utf-8", "replace")
    answers.write(ANSWER.pack(REFUSED, len(text), 0, 0) + text)


if __name__ == "__main__":
    main()
