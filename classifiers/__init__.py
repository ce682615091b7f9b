"""Histograms or feature sets → labels."""

from visualwords.classifiers.gcws import GCWSHasher
from visualwords.classifiers.icd import ICDClassifier
from visualwords.classifiers.kernel_svc import KernelSVC
from visualwords.classifiers.minmax_index import MinMaxIndex
from visualwords.classifiers.pmsvm import PmSVMClassifier
from visualwords.classifiers.quantizer import Quantizer

__all__ = [
    "GCWSHasher",
    "ICDClassifier",
    "KernelSVC",
    "MinMaxIndex",
    "PmSVMClassifier",
    "Quantizer",
]
