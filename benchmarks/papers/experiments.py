"""The experiments: a module for every section of a paper, a function for every table or figure."""

import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.papers.lab import Lab
from benchmarks.papers.results import Results

ICD = "J. Wu: A Fast Dual Method for HIK SVM Learning, 2010"
PMK = "K. Grauman, T. Darrell: Pyramid Match Kernels, 2006"
PMSVM = "H. Yang, J. Wu: Practical Large Scale Classification with Additive Kernels, 2012"
GINT = "P. Li: Generalized Intersection Kernel, 2016"
GCS = "S. Boughorbel et al.: GCS Kernel for SVM-Based Image Recognition, 2006"

SECTIONS = (
    *("icd_quantization", "icd_solvers", "icd_pedestrians", "icd_objects", "icd_defaults"),
    *("pmk_matching", "pmk_objects", "pmk_caltech"),
    *("pmsvm_gradient", "pmsvm_binary", "pmsvm_vision", "large"),
    *("gint_kernels", "gint_hashing", "gcs_sparsity", "gcs_colors"),
)


@dataclass(frozen=True)
class Experiment:
    """One table or figure of a paper.

    Parameters
    ----------
    name : str
    paper, place : str
        Whose figures these are, and where they stand there.
    run : function of a `Lab`
        Its docstring is the text of the page.
    data : tuple of str
        Folders that a full run needs; none: the data are generated.
    minutes : float
        CPU time of a full run, roughly.
    missing : str
        What of the paper's table can't be repeated, and why.
    """

    name: str
    paper: str
    place: str
    run: Callable[[Lab], Results]
    data: tuple[str, ...] = ()
    minutes: float = 1.0
    missing: str = ""

    @property
    def text(self) -> str:
        """The page's text, in Markdown."""
        return inspect.getdoc(self.run) or ""

    @property
    def what(self) -> str:
        """The first line of the text."""
        return self.text.partition("\n")[0]


_KNOWN: dict[str, Experiment] = {}


def experiment(
    name: str, paper: str, place: str, **options: Any
) -> Callable[[Callable[[Lab], Results]], Callable[[Lab], Results]]:
    """Register a function as an experiment; the parameters are those of `Experiment`."""

    def register(run: Callable[[Lab], Results]) -> Callable[[Lab], Results]:
        _KNOWN[name] = Experiment(name, paper, place, run, **options)
        return run

    return register


def all_experiments() -> dict[str, Experiment]:
    """All experiments by name, in the order of `SECTIONS`."""
    for section in SECTIONS:
        importlib.import_module(f"benchmarks.papers.{section}")
    place = {f"benchmarks.papers.{section}": n for n, section in enumerate(SECTIONS)}
    ordered = sorted(_KNOWN.values(), key=lambda one: place[one.run.__module__])
    return {one.name: one for one in ordered}
