"""Every extractor × representation × classifier × kernel, through the command, on awkward images.

Each combination trains, saves, loads, predicts, explains and evaluates; what makes no sense gets a
sentence before any image is read.
"""

import json

import numpy as np
import pytest

from tests.apps.conftest import noisy, write_png
from visualwords.apps.classify_images.main import main
from visualwords.classifiers import kernels

CLASSES = {"sea": (30, 80, 190), "sand": (210, 180, 110)}
SHAPES = [(40, 56), (56, 40), (64, 48), (48, 48)]

PATCHES = {
    "DenseSIFT": "DenseSIFT(step=12)",
    "KeypointSIFT": "KeypointSIFT(detector='harris', max_keypoints=20)",
    "Centrist": "Centrist(layout='dense', step=16)",
    "ColorHistogram": "ColorHistogram(layout='dense', bins=2, step=16)",
    "HOG": "HOG(cell_size=6)",
}
WHOLE = {
    "Centrist": "Centrist",
    "ColorHistogram": "ColorHistogram(bins=3)",
    "HOG": "HOG(cell_size=16)",
    "Centrist pyramid": "Centrist(layout='pyramid')",
    "ColorHistogram windows": "ColorHistogram(bins=2, windows=2)",
}
REPRESENTATIONS = {
    "words": ["--words", "8", "--pyramid", "2x1"],
    "hik words": ["--codebook", "hik", "--words", "8", "--pyramid", "8"],
    "fisher": ["--fisher", "2", "--pyramid", "1", "--set", "fisher.n_components=6"],
    "second-order": ["--second-order", "6", "--pyramid", "1"],
    "sets": ["--sets", "--set", "sets.n_components=3"],
    "vector": [],
    "hashes": ["--set", "hashes.n_hashes=16", "--set", "hashes.n_bits=4"],
}
CLASSIFIERS = {
    "icd": ["--solver", "icd"],
    "crammer-singer": ["--set", "loss=hinge", "--set", "multi_class=crammer_singer"],
    "pmsvm": ["--solver", "pmsvm", "--kernel", "chi2"],
    "kernel": ["--kernel", "ngmm", "--solver", "kernel"],
    "linear": ["--solver", "linear"],
}
FIT = {  # which classifiers take what a representation makes
    "words": [*CLASSIFIERS],
    "hik words": [*CLASSIFIERS],
    "fisher": ["icd", "kernel", "linear"],
    "second-order": ["linear", "icd", "kernel"],
    "sets": ["linear"],
    "vector": [*CLASSIFIERS],
    "hashes": ["linear"],
}
KERNELS = {
    **{name: [] for name in ("hik", *kernels.__all__)},
    "power_mean": ["--set", "p=-2.0"],
    "pyramid_match": [*REPRESENTATIONS["sets"]],
}
QUANTIZATIONS = {
    "quantile": ["--set", "quantization=quantile", "--set", "loss=hinge"],
    "uniform": ["--set", "quantization=uniform", "--set", "n_bins=20", "--solver", "dual"],
    "natural counts": [
        *["--set", "quantization=integer", "--set", "words.norm=none", "--set", "rescale=false"]
    ],
}


def combinations():
    for number, (name, feature) in enumerate(PATCHES.items()):
        for representation in ("words", "hik words", "fisher", "second-order", "sets"):
            fits = FIT[representation]
            # every classifier meets every representation, extractors take turns with them
            chosen = fits[number % len(fits) :: len(PATCHES)] or fits[:1]
            for classifier in chosen:
                yield name, feature, representation, classifier
    for number, (name, feature) in enumerate(WHOLE.items()):
        yield name, feature, "vector", [*CLASSIFIERS][number % len(CLASSIFIERS)]
        yield name, feature, "hashes", "linear"


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """Give a folder of images of mixed sizes, a tiny and a blank one among them."""
    folder = tmp_path_factory.mktemp("matrix") / "photos"
    rng = np.random.default_rng(3)
    for name, color in CLASSES.items():
        for i in range(4):
            write_png(folder / name / f"{i}.png", noisy(color, rng, SHAPES[i]))
    write_png(folder / "sea" / "blank.png", np.full((40, 56, 3), 128, np.uint8))
    write_png(folder / "sand" / "tiny.png", np.full((1, 2, 3), 200, np.uint8))
    return folder


def works(folder, tmp_path, capsys, flags, picture=()):
    """Train, load, predict, explain and evaluate; return the summary of the training."""
    model = str(tmp_path / "m.vw")
    common = ["--quiet", "--jobs", "1"]
    trained = main(["train", str(folder), "-o", model, "--no-cache", "--json", *common, *flags])
    told = capsys.readouterr()
    assert trained == 0, told.err
    summary = json.loads(told.out)
    paths = [str(folder / "sea" / name) for name in ("0.png", "blank.png")]
    assert main(["predict", model, *paths, "--json", "--no-cache", *common]) == 0
    predictions = json.loads(capsys.readouterr().out)["predictions"]
    assert [p["path"] for p in predictions] == paths
    assert all(np.isfinite(list(p["scores"].values())).all() for p in predictions)
    assert main(["explain", model, paths[0], *picture, "--json"]) == 0
    for values in json.loads(capsys.readouterr().out)["classes"].values():
        assert values["score"] == pytest.approx(values["offset"] + values["evidence"], abs=1e-4)
    assert main(["evaluate", model, str(folder), "--json", "--no-cache", *common]) == 0
    assert json.loads(capsys.readouterr().out)["test"]["images"] == 10
    return summary


@pytest.mark.parametrize(
    ("extractor", "feature", "representation", "classifier"),
    [pytest.param(*one, id="-".join((one[0], *one[2:]))) for one in combinations()],
)
def test_everything_that_makes_sense_works(
    images, tmp_path, capsys, extractor, feature, representation, classifier
):
    flags = ["--feature", feature, *REPRESENTATIONS[representation], *CLASSIFIERS[classifier]]
    works(images, tmp_path, capsys, flags, ["-o", str(tmp_path / "why.png")])


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_works(images, tmp_path, capsys, kernel):
    """Of the cheapest rows; what kernels make of words and Fisher vectors is tried above."""
    feature = PATCHES["DenseSIFT"] if kernel == "pyramid_match" else WHOLE["ColorHistogram"]
    flags = ["--feature", feature, *KERNELS[kernel]]
    summary = works(
        images, tmp_path, capsys, [*flags, "--kernel", kernel, "--solver", "kernel", "--C", "1"]
    )
    assert f'kernel = "{kernel}"' in summary["recipe_toml"]


@pytest.mark.parametrize("kernel", ["hik", "chi2", "jensen_shannon", "power_mean"])
def test_every_additive_kernel_has_the_fast_solver(images, tmp_path, capsys, kernel):
    flags = ["--feature", WHOLE["ColorHistogram"], "--kernel", kernel, "--solver", "pmsvm"]
    works(images, tmp_path, capsys, flags)


@pytest.mark.parametrize("quantization", QUANTIZATIONS)
def test_every_quantisation_works(images, tmp_path, capsys, quantization):
    flags = ["--feature", PATCHES["DenseSIFT"], *REPRESENTATIONS["words"]]
    works(images, tmp_path, capsys, [*flags, *QUANTIZATIONS[quantization]])


def test_several_features_are_combined(images, tmp_path, capsys):
    flags = ["--feature", "HOG(cell_size=16)", "--feature", "DenseSIFT(step=12)", "--words", "8"]
    summary = works(images, tmp_path, capsys, flags)
    assert summary["recipe_toml"].count("[[channels]]") == 2


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--feature", "DenseSIFT", "--sets", "--solver", "icd"], "compared by the pyramid match"),
        (["--feature", "DenseSIFT", "--sets", "--kernel", "gcs"], "compared by the pyramid match"),
        (["--feature", "DenseSIFT", "--kernel", "pyramid_match"], "every channel needs sets"),
        (["--feature", "DenseSIFT", "--fisher", "2", "--solver", "pmsvm"], "have negative numbers"),
        (["--feature", "ColorHistogram", "--fisher", "two"], "must be a whole number"),
        (["--feature", "DenseSIFT", "--second-order", "0"], "must be a whole number"),
        (["--feature", "DenseSIFT", "--second-order", "--fisher"], "exclude each other"),
        (["--feature", "DenseSIFT", "--second-order", "--solver", "pmsvm"], "second moments have"),
        (["--feature", "Centrist", "--set", "hashes.n_bits=4", "--kernel", "hik"], "hashes need"),
        (["--feature", "DenseSIFT", "--words", "9", "--sets"], "exclude each other"),
        (["--recipe", "tiny", "--feature", "HOG"], "exclude each other"),
        (["--recipe", "wrods"], "did you mean 'words'"),
        (["--recipe", "nowhere.toml"], "no such file"),
        (["--feature", "HOGG"], "did you mean 'HOG'"),
        (["--feature", "HOG(cellsize=8)"], "did you mean 'cell_size'"),
        (["--kernel", "chi3"], "did you mean 'chi2'"),
        (["--kernel", "chi3", "--set", "degree=3"], "did you mean 'chi2'"),
        (["--codebook", "k-means"], "did you mean 'kmeans'"),
        (["--solver", "svm"], "no solver 'svm'"),
        (["--pyramid", "5"], "choose 1, 8, 21 or 31"),
        (["--C", "0"], "not in the range x>0"),
        (["--set", "words.norm"], "write it as key=value"),
        (["--set", "radius=1"], "no setting of this recipe 'radius'"),
    ],
)
def test_what_makes_no_sense_gets_a_sentence_before_any_image_is_read(
    tmp_path, capsys, flags, sentence
):
    nothing = tmp_path / "there is no such folder"
    assert main(["train", str(nothing), "-o", str(tmp_path / "m.vw"), *flags]) == 2
    told = capsys.readouterr().err
    assert sentence in told
    assert "Traceback" not in told
