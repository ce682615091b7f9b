"""The public surface: what users import is written down here, and changes on purpose only."""

import importlib
import subprocess
import sys

import pytest

from tests.modules import all_modules
from tests.test_layout import ORDER

PUBLIC = {
    "visualwords": [
        *["ImageClassifier", "PedestrianDetector", "Recipe", "__version__", "compare"],
        *["export_onnx", "load"],
    ],
    "visualwords.features": [
        *["HOG", "Centrist", "ColorHistogram", "ColorStatistics", "DenseFilters", "DenseSIFT"],
        *["KeypointSIFT", "ONNXFeatures", "EXTRACTORS"],
    ],
    "visualwords.codebook": [
        *["CODEBOOKS", "BagOfWords", "FeatureSetEncoder", "FeatureSets", "FisherVectors"],
        *["HIKCodebook", "KMeansCodebook", "PyramidMatchEmbedding", "SecondOrderPooling"],
        *["SpatialPyramid", "find_codebook"],
    ],
    "visualwords.classifiers": [
        *["GCWSHasher", "ICDClassifier", "KernelSVC", "MinMaxIndex", "PmSVMClassifier"],
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
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        module.Nonsense  # noqa: B018 - the access is the test


HEAVY = ["numpy", "numba", "sklearn", "cv2", "rich", "joblib", "PIL"]
LATER = ["linear_model", "model_selection", "metrics"]  # each takes some 50 milliseconds
LATER = [f"sklearn.{name}" for name in LATER]
LATER += [f"visualwords.classifiers.{name}" for name in ("icd", "pmsvm", "kernels")]
ABSENT = [  # modules that are imported, one after the other, and what is not imported by then
    ("visualwords", [*HEAVY, "click"]),
    ("visualwords.apps.classify_images.main", HEAVY),
    ("visualwords.apps.detect_pedestrians.main", HEAVY),
    ("visualwords.apps.classify_images.predict", LATER),  # what `classify-images predict` needs
    *[(module, ORDER) for module in all_modules()],  # folders under their bare names
]


def test_heavy_libraries_are_imported_only_when_needed_and_no_folder_under_its_bare_name():
    code = (
        "import importlib, sys\n"
        f"for module, absent in {ABSENT!r}:\n"
        "    importlib.import_module(module)\n"
        "    print(*[(module, name) for name in absent if name in sys.modules], end='')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd="/")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
