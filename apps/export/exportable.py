"""Which recipes can become ONNX files; needs no onnx."""

from visualwords.apps.pipeline.channel import Channel
from visualwords.apps.pipeline.recipe import Recipe

EXTRACTORS = ("DenseSIFT", "HOG", "Centrist", "ColorHistogram", "ColorStatistics", "DenseFilters")
KINDS = ("icd", "pmsvm", "linear")  # of classifiers


def exportable_reason(recipe: Recipe) -> str | None:
    """Why a recipe can't become an ONNX file, in a sentence; None if it can.

    Examples
    --------
    >>> from visualwords.apps.pipeline.recipes import RECIPES
    >>> exportable_reason(RECIPES["words"])
    >>> exportable_reason(RECIPES["pyramid-match"]).split(",")[0]
    'channel 1 (DenseSIFT) matches sets of patches'
    """
    for number, channel in enumerate(recipe.channels, 1):
        reason = _channel_reason(channel)
        if reason is not None:
            return f"channel {number} ({channel.extractor}) {reason}"
    kind, params = recipe.classifier.kind, recipe.classifier.params
    if kind not in KINDS:
        return f"classifier {kind} compares images with training images; use icd, pmsvm or linear"
    if params.get("table_size", 1000) is None:
        return f"classifier {kind} has no tables (table_size); give it a size, such as 1000"
    return None


def _channel_reason(channel: Channel) -> str | None:
    if channel.sets is not None:
        return (
            "matches sets of patches, which ONNX has no operators for; recipe fisher can be "
            "exported"
        )
    if channel.extractor not in EXTRACTORS:
        return "has no form in ONNX operators; DenseSIFT can be exported, as in recipe words"
    if channel.hashes is not None:
        return "hashes its rows, which ONNX has no operators for; leave hashes out"
    if channel.params.get("interpolated"):
        return "is interpolated; leave interpolated = true out"
    return None
