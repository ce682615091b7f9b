"""Histograms or feature sets → labels.

Each class is loaded on first use: a model needs one of them, and all take a fifth of a second.
"""

from typing import TYPE_CHECKING

from visualwords import on_first_use

if TYPE_CHECKING:
    from visualwords.classifiers.gcws import GCWSHasher as GCWSHasher
    from visualwords.classifiers.icd import ICDClassifier as ICDClassifier
    from visualwords.classifiers.kernel_svc import KernelSVC as KernelSVC
    from visualwords.classifiers.minmax_index import MinMaxIndex as MinMaxIndex
    from visualwords.classifiers.pmsvm import PmSVMClassifier as PmSVMClassifier
    from visualwords.classifiers.quantizer import Quantizer as Quantizer

_HOMES = {
    "GCWSHasher": "visualwords.classifiers.gcws",
    "ICDClassifier": "visualwords.classifiers.icd",
    "KernelSVC": "visualwords.classifiers.kernel_svc",
    "MinMaxIndex": "visualwords.classifiers.minmax_index",
    "PmSVMClassifier": "visualwords.classifiers.pmsvm",
    "Quantizer": "visualwords.classifiers.quantizer",
}
__all__ = list(_HOMES)

__getattr__, __dir__ = on_first_use(__name__, _HOMES)
