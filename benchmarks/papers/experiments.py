"""The experiments. NAME is the function ``run`` of the module of that name."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

ICD = "J. Wu: A Fast Dual Method for HIK SVM Learning, 2010"
PMK = "K. Grauman, T. Darrell: Pyramid Match Kernels, 2006"
PMSVM = "H. Yang, J. Wu: Practical Large Scale Classification with Additive Kernels, 2012"
GINT = "P. Li: Generalized Intersection Kernel, 2016"
GCS = "S. Boughorbel et al.: GCS Kernel for SVM-Based Image Recognition, 2006"


@dataclass(frozen=True)
class Experiment:
    """One table or figure of a paper.

    Parameters
    ----------
    name : str
    paper, place : str
        Whose figures these are, and where they stand there.
    what : str
        One line.
    data : tuple of str
        Folders that a full run needs; none: the data are generated.
    minutes : float
        Of a full run on two idle cores, roughly.
    missing : str
        What of the paper's table can't be repeated, and why.
    """

    name: str
    paper: str
    place: str
    what: str
    data: tuple[str, ...]
    minutes: float
    missing: str = ""

    @property
    def run(self) -> Callable[[Any], Any]:
        """The experiment itself: takes a `Lab`, returns `Results`."""
        return self._module.run

    @property
    def description(self) -> str:
        """Description in Markdown: the docstring of the experiment's module."""
        return (self._module.__doc__ or "").strip()

    @property
    def _module(self) -> Any:
        own = self.name.replace("-", "_")
        return importlib.import_module(f"benchmarks.papers.{own}")


_ALL = (
    Experiment(
        *("icd-table1", ICD, "Table 1", "ICD against stochastic solvers and LIBLINEAR"),
        *(("caltech101", "scene15"), 5),
        missing="PASCAL images of SIKMA's software are not available; indoor and outdoor scenes "
        "stand in.",
    ),
    Experiment(
        *("icd-table2", ICD, "Table 2", "pedestrians after bootstrapping: HIK against linear"),
        *(("pedestrian",), 6),
        missing="the paper has 1,218 person-free photographs, here there are 400.",
    ),
    Experiment(
        *("icd-table3", ICD, "Table 3", "objects and scenes: ICD, LIBLINEAR, LIBSVM"),
        *(("caltech101", "scene15"), 8),
        missing="the eight sports categories are not available.",
    ),
    Experiment(
        *("icd-table5", ICD, "Table 5", "not histograms, default parameters"),
        *(("tabular",), 3),
        missing="acoustic and rcv1 are not available.",
    ),
    Experiment(
        *("icd-fig1", ICD, "Figure 1", "accuracy over C"),
        *(("caltech101", "scene15", "pedestrian", "tabular"), 8),
    ),
    Experiment(
        *("pmk-fig3", PMK, "Figure 3", "pyramid match against the optimal partial matching"),
        *((), 0.5),
    ),
    Experiment(
        *("pmk-eth80", PMK, "Section 4.2", "objects from five views, one object left out"),
        *(("eth80",), 5),
    ),
    Experiment(
        *("pmk-caltech", PMK, "Figure 5", "accuracy over the number of training images"),
        *(("caltech101",), 6),
        missing="the paper draws from all images of Caltech-101; here 15 and at most 12 of each "
        "class are at hand.",
    ),
    Experiment(
        *("pmsvm-approximation", PMSVM, "Tables 1–2, Figures 1–2", "errors of the approximations"),
        *((), 2),
        missing="mnist and the paper's histograms are not available; small digits and generated "
        "words stand in.",
    ),
    Experiment(
        *("pmsvm-binary", PMSVM, "Tables 3–7, Figures 3–4", "long sparse data, two classes"),
        *(("tabular",), 3),
        missing="rcv1, url, webspam and kdd are not available; generated text stands in.",
    ),
    Experiment(
        *("pmsvm-vision", PMSVM, "Tables 8–9", "bags of visual words, many classes"),
        *(("caltech101", "scene15"), 8),
        missing="indoor 67 and ILSVRC 1000 are not available, nor the features of the paper.",
    ),
    Experiment(
        *("gint-table1", GINT, "Table 1", "linear, RBF, GMM, NGMM and GInt kernels"),
        *(("tabular",), 15),
    ),
    Experiment(
        *("gint-fig1", GINT, "Figure 1", "the same kernels over C"),
        *(("tabular",), 15),
    ),
    Experiment(
        *("gint-fig2", GINT, "Figure 2", "0-bit GCWS hashing with a linear classifier"),
        *(("tabular",), 5),
    ),
    Experiment(
        *("gcs-table2", GCS, "Table 2", "errors of compactly supported and other kernels"),
        *(("corel1000",), 5),
        missing="the paper's 3,200 images of six Corel classes are not public; Corel-1000 stands "
        "in.",
    ),
    Experiment(
        *("gcs-table3", GCS, "Table 3", "confusion of classes with the CS kernel"),
        *(("corel1000",), 2),
        missing="the same images.",
    ),
    Experiment(
        *("gcs-fig2", GCS, "Figure 2", "sparsity, Cuthill–McKee reordering, complexity"),
        *(("corel1000",), 0.5),
        missing="the same images.",
    ),
)
EXPERIMENTS = {experiment.name: experiment for experiment in _ALL}
