"""A recipe: everything between an image and its label, as one value that files and flags read."""

import math
import os
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

from visualwords.apps.pipeline import recipe_text
from visualwords.apps.pipeline.channel import (
    KINDS,
    Channel,
    Classifier,
    Part,
    setting,
    text,
    whole,
)
from visualwords.apps.pipeline.recipe_text import Table
from visualwords.apps.pipeline.view import VIEWS, View, check_views
from visualwords.errors import RecipeError

__all__ = ["Recipe"]

POWER_MEANS = {"chi2": -1.0, "hik": -math.inf, "intersection": -math.inf}  # their exponents
SPARSE_LINEAR = "visualwords.classifiers.linear.LinearClassifier"  # for rows that are no bytes


@dataclass(frozen=True, repr=False)
class Recipe(Part):
    """Everything that happens to an image before the classifier, and the classifier's settings.

    Images whose longer side is larger than ``max_side`` are shrunk to it; those whose longer side
    is smaller than ``min_side`` are enlarged to it, so that patches of a fixed size see parts of
    tiny images too. ``views`` are further training images, made of each: "mirror" (left and right
    exchanged), "rotations" (by quarter turns), or both, which are seven. They stay in the fold of
    their original, and all figures are those of originals.
    """

    name: str = setting("recipe", text, "Name of the recipe.")
    summary: str = setting("", text, "What it does, in a line.")
    channels: tuple[Channel, ...] = ()
    max_side: int | None = setting(640, whole(1), "Shrink images to this side.", none=True)
    min_side: int | None = setting(None, whole(1), "Enlarge images to this side.", none=True)
    views: tuple[str, ...] = setting(
        (), check_views, f"Train on views of each image, too: {', '.join(VIEWS)}, all or none."
    )
    classifier: Classifier = field(default_factory=Classifier)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_side is not None and (self.min_side or 0) > self.max_side:
            raise RecipeError(
                f"min_side = {self.min_side} must be at most max_side = {self.max_side}"
            )
        channels = tuple(
            replace(c, linear=self.is_linear) if c.linear != self.is_linear else c
            for c in self.channels
        )
        object.__setattr__(self, "channels", channels)

    def __repr__(self) -> str:
        channels = ", ".join(channel.described() for channel in self.channels)
        return f"<Recipe {self.name}: {channels}; {self.classifier}>"

    @property
    def is_linear(self) -> bool:
        """Whether rows are signed bytes, for a linear classifier."""
        return self.classifier.kind == "linear" and all(c.makes_bytes for c in self.channels)

    @property
    def view(self) -> View:
        """The size that images get."""
        return View(self.max_side, self.min_side)

    def image_views(self) -> list[View]:
        """The views of each training image, the original first."""
        return [self.view, *self.view.others(self.views)]

    @property
    def has_network(self) -> bool:
        """Whether a channel is a network; see `visualwords.apps.pipeline.networks`."""
        return any(channel.is_network for channel in self.channels)

    def with_classifier(self, **settings: Any) -> "Recipe":
        """The recipe with other settings of its classifier; what is no field is a parameter."""
        own = {name: settings.pop(name) for name in list(settings) if name in ("kind", "C")}
        params = self.classifier.params | settings
        return replace(self, classifier=replace(self.classifier, **own, params=params))

    def build_classifier(
        self, seed: int = 0, n_jobs: int | None = None, class_weight: Any = None
    ) -> Any:
        """Make the classifier; class weights are those of the recipe unless they are given."""
        kind, params = self.classifier.kind, dict(self.classifier.params)
        place = SPARSE_LINEAR if kind == "linear" and not self.is_linear else KINDS[kind]
        module, _, name = place.rpartition(".")
        if self.classifier.C is not None:
            params["C"] = self.classifier.C
        if class_weight is not None:
            params["class_weight"] = class_weight
        kernel = self.classifier.kernel
        if kernel == "pyramid_match":
            params["kernel"] = self._match_of_vectors()
            params["kernel_params"] = None if callable(params["kernel"]) else {"degree": 1}
        elif kind == "pmsvm" and kernel in POWER_MEANS:
            params["p"] = POWER_MEANS[kernel]
        elif kernel is not None and kind in ("pmsvm", "kernel"):
            params["kernel"] = kernel
        return getattr(import_module(module), name)(random_state=seed, n_jobs=n_jobs, **params)

    def _match_of_vectors(self) -> Any:
        """The kernel of rows that are vectors whose products are the pyramid match."""
        sets = self.channels[0].sets
        if sets is None or sets.normalization != "min_cardinality":
            return "polynomial"
        from visualwords.codebook.pyramid_match import match_by_smaller_set

        return match_by_smaller_set

    def to_json(self) -> Table:
        """The recipe as what JSON can hold: the table of its TOML file."""
        return recipe_text.to_table(self)

    def to_toml(self) -> str:
        """The recipe as the text of a TOML file, from which `from_toml` restores it."""
        return recipe_text.to_toml(self)

    @classmethod
    def from_toml(cls, path_or_text: "str | os.PathLike[str]") -> "Recipe":
        """Read a recipe from a TOML file, or from the text of one (of several lines).

        Raises
        ------
        RecipeError
            A name or value that does not exist, in one sentence with those that do.

        Examples
        --------
        >>> recipe = Recipe.from_toml('''
        ... name = "chi2-words"
        ... [[channels]]
        ... extractor = "DenseSIFT"
        ... words = { codebook = "hik", n_words = 100 }
        ... [classifier]
        ... kind = "pmsvm"
        ... kernel = "chi2"
        ... ''')
        >>> recipe.channels[0].words.n_words, recipe.classifier
        (100, pmsvm(kernel='chi2'))
        """
        return cls.from_table(*recipe_text.read(path_or_text))

    @classmethod
    def from_table(cls, table: Table, where: str = "") -> "Recipe":
        """The recipe that a TOML table describes; messages begin with ``where``."""
        try:
            return cls(**recipe_text.from_table(table, cls))
        except RecipeError as problem:
            raise RecipeError(f"{where}{problem}") from None
