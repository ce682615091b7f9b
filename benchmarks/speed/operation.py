"""A model in use: watching a folder, following a stream, one image at a time.

python -m benchmarks.speed.operation watch                # close of a file to its line, in ms
python -m benchmarks.speed.operation kills [--files N]    # bursts and SIGKILLs: one line each
python -m benchmarks.speed.operation stream               # first result, memory over 2,000 frames
python -m benchmarks.speed.operation loop                 # CPU of predict_one on 300×250 arrays
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import timing  # first: it sets the number of threads

# isort: split
import cv2
import numpy as np

from visualwords import ImageClassifier, load
from visualwords.apps.classify_images.demo_images import texture_tiles
from visualwords.images import encode_image

COMMAND = [sys.executable, "-m", "visualwords.apps.classify_images"]
SIZE_WH = (300, 250)


def _photograph(seed: int) -> np.ndarray:
    """300×250 pixels of smooth noise."""
    noise = np.random.default_rng(seed).integers(0, 256, (SIZE_WH[1], SIZE_WH[0], 3), np.uint8)
    return cv2.GaussianBlur(noise, (0, 0), 3)


def _model(folder: Path, recipe: str) -> str:
    path = folder / f"{recipe}.vw"
    ImageClassifier(recipe).fit(*texture_tiles("train")).save(path)
    return str(path)


def _watching(model: str, inbox: Path, out: Path) -> subprocess.Popen[str]:
    command = [*COMMAND, "watch", model, str(inbox), "-o", str(out)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    process.stderr.readline()  # "watching …"
    return process


def part_watch(folder: Path, options: argparse.Namespace) -> None:
    """Time from the close of a file to its line, recipe fast, warm."""
    inbox, out = folder / "in", folder / "out.jsonl"
    inbox.mkdir()
    jpeg = encode_image(_photograph(0), "jpeg")
    process = _watching(_model(folder, "fast"), inbox, out)
    times = []
    try:
        for number in range(100):
            with open(inbox / f"{number}.jpg", "wb") as file:
                file.write(jpeg)
            start = time.perf_counter()
            while not (out.exists() and f"/{number}.jpg" in out.read_text(encoding="utf-8")):
                time.sleep(0.0005)
            times.append(1000 * (time.perf_counter() - start))
            time.sleep(0.02)
    finally:
        process.kill()
        process.wait()
    p50, p95, worst = np.percentile(times[1:], [50, 95, 100])
    print(f"close to line: p50 {p50:.1f} ms, p95 {p95:.1f} ms, worst {worst:.1f} ms (bar 50)")


def part_kills(folder: Path, options: argparse.Namespace) -> None:
    """Files in bursts of 1,000, three SIGKILLs: every file has one line."""
    inbox, out = folder / "in", folder / "out.jsonl"
    inbox.mkdir()
    model, jpeg = _model(folder, "color"), encode_image(_photograph(0)[:64, :64], "jpeg")
    bursts = max(1, options.files // 1000)
    process = _watching(model, inbox, out)
    n_kills = 0
    for burst in range(bursts):
        for number in range(1000):
            (inbox / f"{burst}-{number}.jpg").write_bytes(jpeg)
        if n_kills < 3:
            time.sleep(1.0)
            process.send_signal(signal.SIGKILL)
            process.wait()
            n_kills += 1
            process = _watching(model, inbox, out)
    process.kill()
    process.wait()
    subprocess.run(
        [*COMMAND, "watch", model, str(inbox), "-o", str(out), "--once", "-q"], check=True
    )
    lines = out.read_text(encoding="utf-8").splitlines()
    found = [os.path.basename(json.loads(line)["path"]) for line in lines]
    print(
        f"{bursts * 1000} files, {n_kills} kills: {len(found)} lines, {len(set(found))} files, "
        f"{bursts * 1000 - len(set(found))} lost, {len(found) - len(set(found))} twice"
    )


def part_stream(folder: Path, options: argparse.Namespace) -> None:
    """A video of 2,000 frames: time to the first result, resident memory along the way."""
    video = folder / "v.avi"
    writer = cv2.VideoWriter(str(video), cv2.VideoWriter.fourcc(*"MJPG"), 25, SIZE_WH)
    pictures = [_photograph(seed) for seed in range(20)]
    for number in range(2000):
        writer.write(pictures[number % 20])
    writer.release()
    model = load(_model(folder, "fast")).set_params(n_jobs=1)
    from visualwords.frames import frames_of

    memory, first = [], None
    start = time.perf_counter()
    for frame in frames_of(str(video)):
        model.predict_one(frame.image)
        first = first or time.perf_counter() - start
        if frame.number % 400 == 399:
            pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
            memory.append(pages * os.sysconf("SC_PAGE_SIZE") / 2**20)
    print(f"first result {first:.2f} s after the video was opened (bar 1)")
    print("resident MB after each 400 frames:", " ".join(f"{m:.1f}" for m in memory))


def part_loop(folder: Path, options: argparse.Namespace) -> None:
    """CPU time of one image in a loop, one thread."""
    image = _photograph(0)
    for recipe, bar in (("fast", 3), ("words", 8)):
        model = load(_model(folder, recipe)).set_params(n_jobs=1)
        spent = timing.best_cpu_seconds(lambda m=model: m.predict_one(image), repeats=15)
        print(f"predict_one, recipe {recipe}: {1000 * spent:.1f} ms of CPU (bar {bar})")


PARTS = {"watch": part_watch, "kills": part_kills, "stream": part_stream, "loop": part_loop}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    parser.add_argument("--files", type=int, default=10_000)
    chosen = parser.parse_args()
    for name in chosen.parts or PARTS:
        with tempfile.TemporaryDirectory() as place:
            PARTS[name](Path(place), chosen)
