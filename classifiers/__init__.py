"""Histograms or feature sets → labels."""

from visualwords.classifiers.gcws import GCWSHasher
from visualwords.classifiers.icd import ICDClassifier
from visualwords.classifiers.minmax_index import MinMaxIndex
from visualwords.classifiers.quantizer import Quantizer

__all__ = ["GCWSHasher", "ICDClassifier", "MinMaxIndex", "Quantizer"]
