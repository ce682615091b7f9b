"""What train, evaluate and predict do in common: read, skip, tell, and end with the right code."""

import json
import os
import sys
from typing import Any

import numpy as np

from visualwords.apps.classify_images import options
from visualwords.apps.evaluation import compare
from visualwords.apps.extraction import Extraction
from visualwords.apps.image_classifier import ImageClassifier
from visualwords.apps.recipes import Recipe
from visualwords.apps.terminal import print_results, progress_bars, say, say_skipped
from visualwords.errors import FolderError, VisualWordsError
from visualwords.folders import ImageFolder


class Run:
    """One run of a command over many images.

    Parameters are those of `visualwords.apps.classify_images.options.reading`.
    """

    def __init__(
        self,
        *,
        jobs: int | None,
        cache_dir: str | None,
        no_cache: bool,
        max_pixels: int,
        quiet: bool,
        strict: bool,
        as_json: bool,
    ):
        self.n_jobs = options.n_threads(jobs)
        self.cache_dir = options.cache_folder(cache_dir, no_cache)
        self.max_pixels = max_pixels
        self.quiet = quiet
        self.strict = strict
        self.as_json = as_json
        self.skipped: list[tuple[str, str]] = []

    def prepare(self, model: ImageClassifier) -> ImageClassifier:
        """Give a model the settings of this run."""
        return model.set_params(
            n_jobs=self.n_jobs, cache_dir=self.cache_dir, max_pixels=self.max_pixels
        )

    def train(self, images: ImageFolder, recipe: str | Recipe, seed: int) -> ImageClassifier:
        """Fit a model, showing progress."""
        model = self.prepare(ImageClassifier(recipe, random_state=seed))
        with progress_bars(self.quiet) as progress:
            try:
                model.fit(images.paths, images.labels, progress=progress, warn=False)
            except VisualWordsError:
                say_skipped(getattr(model, "skipped_", []))
                raise
        self.skip(model.skipped_)
        for name, accuracy in model.tried_.items():
            say(f"recipe {name}: {accuracy:.1%} mean per class by cross-validation")
        return model

    def read(self, model: ImageClassifier, paths: list[str]) -> Extraction:
        """Describe images, showing progress and noting what can't be read."""
        with progress_bars(self.quiet) as progress:
            extraction = model.extract(paths, progress=progress)
        self.skip([(paths[i], reason) for i, reason in extraction.skipped])
        self.check_strict()
        return extraction

    def test(
        self,
        model: ImageClassifier,
        images: ImageFolder,
        report: str | None,
        summary: dict[str, Any],
    ) -> None:
        """Compare a model's labels with the true ones, and tell the result."""
        extraction = self.read(model, images.paths)
        if not len(extraction.kept):
            raise FolderError(f"{images.path}: none of the {len(images)} images can be read")
        self._warn_of_leaks(model, images, extraction)
        scores = model.decide(extraction)
        truth = [images.labels[i] for i in extraction.kept]
        guesses = model.labels_of(scores).tolist()
        evaluation = compare(truth, guesses, model.classes_.tolist())
        unknown = sorted(set(truth) - set(model.classes_.tolist()))
        if unknown:
            say(
                f"warning: the model does not know {', '.join(unknown)}; all their images are wrong"
            )
        if report is not None:
            from visualwords.apps.report import write_report

            paths = [images.paths[i] for i in extraction.kept]
            write_report(report, model, evaluation, paths, truth, guesses, scores)
            say(f"{report}: report written")
        if not self.as_json:
            print_results(evaluation)
        self.print_summary(summary | {"test": evaluation.to_json(), "report": report})

    def print_summary(self, summary: dict[str, Any]) -> None:
        """Print the result as JSON, if that was asked for."""
        if self.as_json:
            skipped = [{"path": path, "reason": reason} for path, reason in self.skipped]
            json.dump(summary | {"skipped": skipped}, sys.stdout, indent=1)
            print()

    def skip(self, skipped: list[tuple[str, str]]) -> None:
        """Note files that were left out."""
        self.skipped += skipped

    def check_strict(self) -> None:
        """Stop if files were left out and none may be."""
        if self.strict and self.skipped:
            say_skipped(self.skipped)
            raise FolderError("files had to be skipped, which --strict forbids")

    def exit_code(self) -> int:
        """List what was skipped and return 3 if anything was, else 0."""
        say_skipped(self.skipped)
        return 3 if self.skipped else 0

    def _warn_of_leaks(
        self, model: ImageClassifier, images: ImageFolder, extraction: Extraction
    ) -> None:
        digests = np.frombuffer(b"".join(extraction.digests), np.uint64)
        n_known = int(np.isin(digests, model.training_digests_).sum())
        if n_known:
            say(
                f"warning: {images.path}: {n_known} of {len(digests)} test images were in the "
                "training set too; the figures flatter the model"
            )


def check_output(path: str) -> None:
    """Refuse an output that can't be written before hours of work, not after."""
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise FolderError(f"{path}: there is no folder {folder}; make it first")
    if not os.access(folder, os.W_OK):
        raise FolderError(f"{path}: the folder {folder} can't be written")
