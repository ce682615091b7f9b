"""Variants of what recipes make of an image, on folds of the training images of several sets.

    python -m benchmarks.accuracy.row_choices words scene15 corel1000 caltech101
    python -m benchmarks.accuracy.row_choices fisher tasks/blood/table.csv --only scene photo

Test images are never read. A variant enters a recipe, or what `auto` tries, if it is ahead on three
sets or more. ``--classes N`` takes the images of N classes.
"""

import argparse
from dataclasses import replace

from benchmarks.accuracy.recipe_folds import compare_on_folds, training_part
from benchmarks.data import KEPT
from visualwords.apps.pipeline.channel import Channel, Fisher, Words
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.apps.pipeline.recipes import LINEAR, MORE_LINEAR, RECIPES
from visualwords.apps.pipeline.search.variations import with_filter_moments, with_second_order
from visualwords.folders import ImageFolder

SIFT, CENTRIST = RECIPES["words"].channels
SCALES = {"bin_size": [4, 6, 8, 12], "step": 6}


def words(*channels: Channel) -> Recipe:
    return Recipe("words variant", "", channels)


def counted(channel: Channel, weight: float = 1.0, **settings) -> Channel:
    """Return a channel with other settings of its words."""
    return replace(channel, words=replace(channel.words, **settings), weight=weight)


def seen(channel: Channel, **params) -> Channel:
    """Return a channel with other settings of its extractor."""
    return replace(channel, params={**channel.params, **params})


def many(channel: Channel) -> Channel:
    return counted(channel, n_words=1000)


COLOR_PATCHES = Channel(
    "ColorHistogram", {"layout": "dense", "bins": 4, "space": "lab"}, words=Words()
)
WORDS = {
    "SIFT": words(SIFT),
    "SIFT, power 0.5": words(counted(SIFT, power=0.5)),
    "SIFT, 4 scales": words(seen(SIFT, **SCALES)),
    "SIFT, 4 scales, power 0.5": words(counted(seen(SIFT, **SCALES), power=0.5)),
    "CENTRIST": words(CENTRIST),
    "CENTRIST, power 0.5": words(counted(CENTRIST, power=0.5)),
    "CENTRIST, patches of 24": words(seen(CENTRIST, patch_size=24)),
    "words": RECIPES["words"],
    "words, power 0.5": words(counted(SIFT, power=0.5), counted(CENTRIST, power=0.5)),
    "words, 4 scales": words(seen(SIFT, **SCALES), CENTRIST),
    "words, both sizes of CENTRIST": words(SIFT, CENTRIST, seen(CENTRIST, patch_size=24)),
    "words, Sobel SIFT": words(SIFT, CENTRIST, seen(SIFT, sobel=True)),
    "words, colours": words(SIFT, CENTRIST, COLOR_PATCHES),
    "1,000 words": words(many(SIFT), many(CENTRIST)),
    "1,000 words, Sobel SIFT": words(many(SIFT), many(CENTRIST), many(seen(SIFT, sobel=True))),
    "rich-words without filters": words(*RECIPES["rich-words"].channels[:3]),
    "rich-words": RECIPES["rich-words"],
    "rich-words, mirrored": replace(RECIPES["rich-words"], views=("mirror",)),
    "rich-words, both sizes of CENTRIST": words(
        *RECIPES["rich-words"].channels, many(seen(CENTRIST, patch_size=24))
    ),
    "rich-words, CENTRIST of windows": words(
        *RECIPES["rich-words"].channels, Channel("Centrist", {"layout": "pyramid"})
    ),
}


def fisher(*channels: Channel, weights: tuple[float, ...] = ()) -> Recipe:
    """Return a recipe of linear channels, those after the first with given weights."""
    first, *others = channels
    weighted = [replace(c, weight=w) for c, w in zip(others, weights or [c.weight for c in others])]
    return Recipe("fisher variant", "", (first, *weighted), classifier=LINEAR)


def gaussians(channel: Channel, n: int) -> Channel:
    """Return a Fisher channel with so many Gaussians."""
    return replace(channel, fisher=replace(channel.fisher, n_gaussians=n))


SIFT_FISHER, CENTRIST_FISHER = RECIPES["scene"].channels
FILTERS, COLOR_CELLS, SHAPE, COLOR_WINDOWS, TEXTURE, COLOR_FILTERS, _, COLOR_FISHER = MORE_LINEAR
SOBEL_FISHER = replace(seen(SIFT_FISHER, sobel=True), weight=0.7)
PATCH_COLORS = Channel(
    "ColorHistogram",
    {"layout": "dense", "bins": 4, "space": "lab"},
    fisher=Fisher(root=True, n_components=32),
    linear=True,
    weight=0.7,
)
SCENE = (SIFT_FISHER, CENTRIST_FISHER)
COMBINED = RECIPES["combined"].channels
FISHER = {
    "scene": fisher(*SCENE),
    "photo": RECIPES["photo"],
    "scene, Sobel SIFT": fisher(*SCENE, SOBEL_FISHER),
    "scene, CENTRIST of 16": fisher(*SCENE, seen(CENTRIST_FISHER, patch_size=16)),
    "scene, HOG": fisher(*SCENE, SHAPE),
    "scene, HOG, texture": fisher(*SCENE, SHAPE, TEXTURE),
    "scene, coloured patches": fisher(*SCENE, PATCH_COLORS),
    "scene, colours in windows": fisher(*SCENE, COLOR_WINDOWS),
    "scene, coloured SIFT": fisher(*SCENE, COLOR_FISHER),
    "combined": RECIPES["combined"],
    "combined, coloured patches": fisher(*COMBINED, PATCH_COLORS),
    "vivid": RECIPES["vivid"],
    "vivid, of 240 pixels": replace(RECIPES["vivid"], max_side=240),
    "scene, colours in cells": fisher(*SCENE, COLOR_CELLS),
    "combined, colours in cells": fisher(*COMBINED, COLOR_CELLS),
    "combined, Sobel SIFT": fisher(*COMBINED, SOBEL_FISHER),
    "combined, mirrored": replace(RECIPES["combined"], views=("mirror",)),
    "rich": RECIPES["rich"],
    "rich, HOG, texture": fisher(*RECIPES["rich"].channels, SHAPE, TEXTURE),
    "scene, 256 Gaussians for SIFT": fisher(gaussians(SIFT_FISHER, 256), CENTRIST_FISHER),
    "scene, 128 Gaussians for both": fisher(*(gaussians(c, 128) for c in SCENE)),
    "combined, 128 Gaussians for SIFT": fisher(gaussians(SIFT_FISHER, 128), *COMBINED[1:]),
    "object": RECIPES["object"],
    "SIFT": fisher(SIFT_FISHER),
    "second moments": fisher(with_second_order(fisher(SIFT_FISHER)).channels[1]),
    "filters": fisher(FILTERS),
    "SIFT, filters": fisher(SIFT_FISHER, FILTERS),
    "SIFT, second moments of filters": with_filter_moments(fisher(SIFT_FISHER)),
    "pattern": RECIPES["pattern"],
    "pattern, second moments of filters": with_filter_moments(RECIPES["pattern"]),
    "photo, filters": fisher(*RECIPES["photo"].channels, FILTERS),
    "photo, second moments of filters": with_filter_moments(RECIPES["photo"]),
    "coloured filters": fisher(COLOR_FILTERS),
    "chromatic": RECIPES["chromatic"],
    "moments": RECIPES["moments"],
    "moments, filters": fisher(*RECIPES["moments"].channels, FILTERS),
    **{
        f"{name}, second moments": with_second_order(recipe)
        for name, recipe in {
            "SIFT": fisher(SIFT_FISHER),
            **{name: RECIPES[name] for name in ("scene", "photo", "vivid")},
        }.items()
    },
}


def in_31_windows(channel: Channel, weight: float) -> Channel:
    """Return a Fisher channel with the windows of `object`."""
    windows = RECIPES["object"].channels[0].fisher
    inside = replace(channel.fisher, pyramid=windows.pyramid, weights=windows.weights)
    return replace(channel, fisher=inside, weight=weight)


OBJECT = RECIPES["object"].channels
OBJECTS = {
    "object": RECIPES["object"],
    "object, second moments": with_second_order(RECIPES["object"]),
    "object, of 240 pixels": replace(RECIPES["object"], max_side=240),
    "object, second moments, of 240 pixels": with_second_order(
        replace(RECIPES["object"], max_side=240)
    ),
    "object, second moments of filters, of 240 pixels": with_filter_moments(
        replace(RECIPES["object"], max_side=240)
    ),
    "moments, of 240 pixels": replace(RECIPES["moments"], max_side=240),
    "moments, filters, of 240 pixels": replace(
        fisher(*RECIPES["moments"].channels, FILTERS), max_side=240
    ),
    "object, CENTRIST Fisher": fisher(*OBJECT, in_31_windows(CENTRIST_FISHER, 0.7)),
    "object, coloured patches": fisher(*OBJECT, in_31_windows(PATCH_COLORS, 0.5)),
    "object, colours in cells": fisher(*OBJECT, in_31_windows(COLOR_CELLS, 1.0)),
    "object, Sobel SIFT": fisher(*OBJECT, in_31_windows(SOBEL_FISHER, 0.63)),
    "object, CENTRIST Fisher, Sobel SIFT": fisher(
        *OBJECT, in_31_windows(CENTRIST_FISHER, 0.7), in_31_windows(SOBEL_FISHER, 0.63)
    ),
}
GROUPS = {"words": WORDS, "fisher": FISHER, "object": OBJECTS}


def some_classes(images: ImageFolder, n: int) -> ImageFolder:
    """Return the images of n classes, evenly spread over their list."""
    every = len(images.classes) / n
    chosen = {images.classes[int(every * k)] for k in range(n)}
    return images.select(i for i, label in enumerate(images.labels) if label in chosen)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("group", choices=GROUPS)
    parser.add_argument("data", nargs="+")
    parser.add_argument("--only", nargs="+", metavar="VARIANT")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--classes", type=int)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cache", default=str(KEPT / "cache"))
    options = parser.parse_args()
    variants = GROUPS[options.group]
    for name in options.data:
        images = training_part(name, options.seed)
        if options.classes is not None and options.classes < len(images.classes):
            images = some_classes(images, options.classes)
        print(f"{name}, {len(images)} images")
        tried = [(title, variants[title]) for title in options.only or variants]
        compare_on_folds(images, tried, options.jobs, options.cache)


if __name__ == "__main__":
    main()
