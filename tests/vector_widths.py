"""The same results with vectors of every width: ``python -m tests.vector_widths``, a step of CI.

Models that are trained with the host's own vectors predict in other processes whose vectors are
narrower, and in one whose processor numba does not know (``NUMBA_CPU_NAME=generic``). Whole numbers
must be equal. Scores may differ as float32 rounds in another order, by `TOLERANCE` of their range,
and no label may.

Vectors wider than the host's can't be run; their loops are compiled, as LLVM would end the process
if one of them used an instruction that the target lacks.
"""

import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from visualwords.compiled import OVERRIDE, WIDTHS, vector_bytes

RECIPES = ("words", "fisher", "moments")  # k-means, Fisher vectors, second moments, HOG, CENTRIST
# Of the range of scores. Fisher vectors become bytes: where a number lies between two of them,
# another order of float32 sums rounds it to the other one.
TOLERANCE = 1e-3
AVX512 = {
    "NUMBA_CPU_NAME": "skylake-avx512",
    "NUMBA_CPU_FEATURES": "+avx,+avx2,+bmi,+bmi2,+fma,+avx512f,+avx512bw,+avx512dq,+avx512vl",
}
WIDE_LOOPS = {"gram_rows", "find_nearest"}


def main() -> int:
    """Compare everything; 1, with a line for each, where results differ."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        run("train", folder)
        narrower = [width for width in WIDTHS if width < vector_bytes()]
        others = {f"{width} bytes": {OVERRIDE: str(width)} for width in narrower}
        others["generic"] = {"NUMBA_CPU_NAME": "generic"}
        found = {name: pool.submit(scores, folder, name, env) for name, env in others.items()}
        expected = scores(folder, "host", {})
        wrong = [line for name in found for line in compare(name, found[name].result(), expected)]
        if vector_bytes() == 32:
            print("64 bytes: only compiled:", run("compile", folder, **AVX512))
    print(*wrong, sep="\n")
    return 1 if wrong else 0


def run(verb: str, folder: str, name: str = "", **environment: str) -> str:
    """Run a verb of this module in a process of its own; return what it prints."""
    command = [sys.executable, "-m", "tests.vector_widths", verb, folder, name]
    names = ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", OVERRIDE)
    inherited = {name: value for name, value in os.environ.items() if name not in names}
    done = subprocess.run(
        command, env=inherited | environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


def scores(folder: str, name: str, environment: dict[str, str]) -> dict[str, np.ndarray]:
    """The results of a process with another environment."""
    run("predict", folder, name, **environment)
    with np.load(Path(folder, f"{name}.npz")) as found:
        return dict(found)


def compare(name: str, found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> list[str]:
    """Print how far results are apart; return a line for each that is too far."""
    wrong = []
    for key, value in expected.items():
        if found[key].shape != value.shape:
            wrong.append(f"{name}: {key} are {len(found[key])}, not {len(value)}")
            continue
        apart = np.abs(found[key].astype(np.float64) - value)
        relative = apart.max() / max(np.ptp(value), 1e-12)
        is_whole = value.dtype.kind in "iu"
        print(f"{name}: {key}: largest difference {relative:.1e} of the range")
        if apart.max() > 0 if is_whole else relative > TOLERANCE:
            wrong.append(f"{name}: {key} differ in {np.count_nonzero(apart)} of {apart.size}")
        if key.startswith("scores of"):
            crossing = np.count_nonzero(found[key].argmax(axis=1) != value.argmax(axis=1))
            wrong += [f"{name}: {key}: {crossing} labels differ"] * bool(crossing)
    return wrong


def train(folder: str) -> None:
    """Write a model for each recipe."""
    from visualwords import ImageClassifier
    from visualwords.apps.classify_images.demo_images import texture_tiles

    tiles, labels = texture_tiles("train")
    for recipe in RECIPES:
        ImageClassifier(recipe).fit(tiles, labels).save(Path(folder, f"{recipe}.vw"))


def predict(folder: str, name: str) -> None:
    """Write what the models, the detector and single kernels compute here."""
    from visualwords import load
    from visualwords.apps.classify_images.demo_images import texture_tiles
    from visualwords.apps.detection.drawing import demo_picture
    from visualwords.classifiers.kernels import intersection
    from visualwords.features import Centrist, DenseSIFT

    tiles, _ = texture_tiles("test")
    results = {}
    for recipe in RECIPES:
        results[f"scores of {recipe}"] = load(Path(folder, f"{recipe}.vw")).decision_function(tiles)
    boxes, strengths = load("pedestrian").detect(demo_picture())
    results |= {"boxes of people": boxes, "strengths of people": strengths}
    counts = np.array([Centrist("whole").describe(tile) for tile in tiles[:40]])
    patches = DenseSIFT().extract(tiles[0]).descriptors
    results["counts of census codes"] = counts.astype(np.int64)
    results["bytes of SIFT"] = patches.astype(np.int64)
    results["intersections"] = intersection(counts.astype(np.uint8)).astype(np.int64)
    results["nearest words"] = _words().predict(patches).astype(np.int64)
    np.savez(Path(folder, f"{name}.npz"), **results)


def _words():
    from visualwords.codebook import KMeansCodebook

    words = np.random.default_rng(0).random((50, 128)) * 100
    zero, ones = np.array(0), np.ones(50)
    return KMeansCodebook(50).set_state(
        {"words": words, "counts": ones, "inertia": zero, "n_iter": zero}
    )


def compile_wide() -> None:
    """Compile the loops that depend on the width, without running any compiled code."""
    from visualwords.classifiers.kernels import _intersection_uint8
    from visualwords.classifiers.kernels.minmax import level_gram
    from visualwords.codebook import kmeans

    compiled: set[str] = set()
    for module in (_intersection_uint8, kmeans):
        for name, loop in list(vars(module).items()):
            if hasattr(loop, "py_func"):
                setattr(module, name, _only_compiled(loop, compiled))
    random = np.random.default_rng(0)
    x = random.integers(0, 128, (40, 64)).astype(np.uint8)
    level_gram(x)
    kmeans.NearestWords(random.random((20, 64)).astype(np.float32)).find(x)
    assert vector_bytes() == 64
    assert compiled >= WIDE_LOOPS, WIDE_LOOPS - compiled
    print(*sorted(compiled))


def _only_compiled(loop, compiled):
    """A stand-in that compiles a loop for its arguments, and returns nothing."""
    import numba

    def compile_(*arguments):
        signature = tuple(map(numba.typeof, arguments))
        loop.compile(signature)
        if "zmm" in loop.inspect_asm(loop.signatures[-1]):
            compiled.add(loop.py_func.__name__)
        return 0

    return compile_


if __name__ == "__main__":
    if len(sys.argv) == 1:
        sys.exit(main())
    verb, folder, name = sys.argv[1:]
    if verb == "train":
        train(folder)
    elif verb == "predict":
        predict(folder, name)
    else:
        compile_wide()
