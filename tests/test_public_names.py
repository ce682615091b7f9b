"""The public surface: what users import is written down here, and changes on purpose only."""

import importlib
import subprocess
import sys

import pytest

PUBLIC = {
    "visualwords": [
        *["ImageClassifier", "PedestrianDetector", "Recipe", "__version__", "compare"],
        *["export_onnx", "load"],
    ],
    "visualwords.features": [
        "EXTRACTORS",
        *["HOG", "Centrist", "ColorHistogram", "ColorStatistics", "DenseFilters", "DenseSIFT"],
        "KeypointSIFT",
        "ONNXFeatures",
    ],
    "visualwords.codebook": [
        "CODEBOOKS",
        "BagOfWords",
        "FeatureSetEncoder",
        "FeatureSets",
        "FisherVectors",
        "HIKCodebook",
        "KMeansCodebook",
        "PyramidMatchEmbedding",
        "SecondOrderPooling",
        "SpatialPyramid",
        "find_codebook",
    ],
    "visualwords.classifiers": [
        "GCWSHasher",
        "ICDClassifier",
        "KernelSVC",
        "MinMaxIndex",
        "PmSVMClassifier",
        "Quantizer",
    ],
    "visualwords.classifiers.kernels": [
        *["intersection", "gint", "gmm", "ngmm", "power_mean", "chi2", "jensen_shannon"],
        *["gcs", "cs", "triangular", "circular", "spherical", "laplace", "polynomial"],
        *["rbf", "pyramid_match"],
    ],
}


@pytest.mark.parametrize("package", PUBLIC)
def test_public_names_are_exactly_these(package):
    module = importlib.import_module(package)
    assert sorted(module.__all__) == sorted(PUBLIC[package])
    assert all(hasattr(module, name) for name in PUBLIC[package])


def test_an_unknown_name_is_an_attribute_error():
    import visualwords

    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        visualwords.Nonsense  # noqa: B018 - the access is the test


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import visualwords", ["numpy", "numba", "sklearn", "cv2", "click"]),
        (
            "import visualwords.apps.classify_images.main",
            ["numpy", "numba", "sklearn", "cv2", "rich", "joblib", "PIL"],
        ),
        (
            "import visualwords.apps.detect_pedestrians.main",
            ["numpy", "numba", "sklearn", "cv2", "rich", "joblib", "PIL"],
        ),
        (  # what `classify-images predict` needs: each of these takes some 50 milliseconds
            "from visualwords.apps.classify_images.predict import Predict; Predict(jobs=1)",
            [
                *["sklearn.linear_model", "sklearn.model_selection", "sklearn.metrics"],
                *[f"visualwords.classifiers.{name}" for name in ("icd", "pmsvm", "kernels")],
            ],
        ),
    ],
)
def test_heavy_libraries_are_imported_only_when_needed(code, absent):
    code += f"; import sys; print(*[n for n in {absent!r} if n in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd="/")
    assert (result.returncode, result.stdout.split()) == (0, []), result.stderr
