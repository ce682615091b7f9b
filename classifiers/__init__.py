"""Histograms or feature sets → labels."""

from visualwords.classifiers.icd import ICDClassifier
from visualwords.classifiers.quantizer import Quantizer

__all__ = ["ICDClassifier", "Quantizer"]
