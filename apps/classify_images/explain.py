"""classify-images explain"""

import os
from typing import TYPE_CHECKING

import click

from visualwords.apps.classify_images import options
from visualwords.apps.command_line import options as shared
from visualwords.apps.command_line.verb import Verb

if TYPE_CHECKING:
    from visualwords.apps.explanation.explanation import Explanation

N_CLASSES, N_WORDS = 3, 8
KINDS = {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg"}  # of pictures that can be written


@click.command(cls=Verb)
@click.argument("model", type=click.Path())
@click.argument("image", type=click.Path())
@options.output("-o --output heat.png", "Write a picture of the evidence, laid over the image.")
@shared.flag(
    "--label L",
    "Class to explain; may be repeated [default: the three best].",
    name="labels",
    multiple=True,
    shell_complete=shared.complete_classes,
)
@options.network
@shared.as_json
def explain(
    model: str,
    image: str,
    output: str | None,
    labels: tuple[str, ...],
    network: str | None,
    as_json: bool,
) -> int:
    """Show which parts of IMAGE raise or lower the score of a class of MODEL.

    The score of a class is the sum of the evidence of all places, plus an offset.
    """
    from visualwords.apps.command_line.terminal import note, print_json
    from visualwords.apps.pipeline.classifier import ImageClassifier

    if output is not None and not output.lower().endswith(tuple(KINDS)):
        raise click.BadParameter(f"{output}: name a file ending in {', '.join(KINDS)}")
    classifier = ImageClassifier.load(model, network=network)
    for label in labels:
        if label not in classifier.classes_:
            known = ", ".join(classifier.classes_)
            raise click.BadParameter(f"{model} has no class {label!r}; it knows {known}")
    explanation = classifier.explain(image)
    wanted = list(labels) or explanation.ranked[:N_CLASSES]
    if output is not None:
        _draw(image, explanation, wanted, output)
        note(f"{output}: evidence written")
    if as_json:
        print_json(_summary(image, explanation, wanted))
    else:
        _print(explanation, wanted)
    return 0


def _draw(image: str, explanation: "Explanation", labels: list[str], output: str) -> None:
    from visualwords.apps.explanation.explanation_picture import draw_explanation
    from visualwords.files import write_atomically
    from visualwords.images import encode_image, read_image

    pixels = draw_explanation(read_image(image, max_side=1200), explanation, labels)
    kind = KINDS[os.path.splitext(output)[1].lower()]
    write_atomically(output, encode_image(pixels, kind))


def _summary(image: str, explanation: "Explanation", labels: list[str]) -> dict[str, object]:
    chances = explanation.probabilities
    classes = {}
    for label in labels:
        i, words = explanation.column_of(label), explanation.discriminative_words(label, N_WORDS)
        classes[label] = {
            "score": float(explanation.scores[i]),
            "offset": float(explanation.offsets[i]),
            "evidence": float(explanation.scores[i] - explanation.offsets[i]),
            "probability": None if chances is None else float(chances[i]),
            "discriminative_words": {one.name: one.value for one in words},
        }
    return {
        "path": image,
        "label": explanation.label,
        "novelty": explanation.novelty,
        "exact": explanation.exact,
        "method": explanation.method,
        "classes": classes,
    }


def _print(explanation: "Explanation", labels: list[str]) -> None:
    from rich.text import Text

    from visualwords.apps.command_line.terminal import print_table, show

    numbers = ["probability", "score", "= offset", *(f"+ {c.name}" for c in explanation.channels)]
    rows = []
    for label in labels:
        i, chances = explanation.column_of(label), explanation.probabilities
        parts = [c.evidence[:, i].sum(dtype=float) for c in explanation.channels]
        sums = [explanation.scores[i], explanation.offsets[i].round(6) + 0.0, *parts]
        chance = "" if chances is None else f"{chances[i]:.1%}"
        rows.append([label, chance, *(f"{number:+.4f}" for number in sums)])
    print_table(["class", *numbers], rows, right=numbers, title="scores and their parts")
    print_table(
        ["word", "adds"],
        [
            [one.name, Text(f"{one.value:+.4f}", "green" if one.value > 0 else "red")]
            for one in explanation.discriminative_words(labels[0], N_WORDS)
        ],
        right=["adds"],
        title=f"most discriminative for {labels[0]}",
    )
    show(("Exact. " if explanation.exact else "Attributed: ") + explanation.method)
