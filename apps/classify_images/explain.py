"""classify-images explain"""

import os
from typing import TYPE_CHECKING

import click

from visualwords.apps.classify_images import options
from visualwords.apps.command_line import completion
from visualwords.apps.command_line import options as shared
from visualwords.apps.command_line.verb import Verb

if TYPE_CHECKING:
    from visualwords.apps.explanation.explanation import Explanation

N_CLASSES, N_WORDS = 3, 8
KINDS = {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg"}  # of pictures that can be written


@click.command(cls=Verb)
@click.argument("model", type=click.Path())
@click.argument("image", type=click.Path())
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False),
    metavar="heat.png",
    help="Write a picture of the evidence, laid over the image.",
)
@click.option(
    "--label",
    "labels",
    multiple=True,
    metavar="L",
    shell_complete=completion.classes,
    help="Class to explain; may be repeated [default: the three best].",
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
    from visualwords.apps.command_line.terminal import check_output, print_json
    from visualwords.apps.pipeline.loading import load_image_classifier

    if output is not None:
        check_output(output)
        if not output.lower().endswith(tuple(KINDS)):
            raise click.BadParameter(f"{output}: name a file ending in {', '.join(KINDS)}")
    classifier = load_image_classifier(model, network)
    wanted = list(labels)
    for label in wanted:
        if label not in classifier.classes_:
            known = ", ".join(classifier.classes_)
            raise click.BadParameter(f"{model} has no class {label!r}; it knows {known}")
    explanation = classifier.explain(image)
    wanted = wanted or explanation.ranked[:N_CLASSES]
    if output is not None:
        _draw(image, explanation, wanted, output)
    if as_json:
        print_json(_summary(image, explanation, wanted))
    else:
        _print(explanation, wanted)
    return 0


def _draw(image: str, explanation: "Explanation", labels: list[str], output: str) -> None:
    from visualwords.apps.command_line.terminal import note
    from visualwords.apps.explanation.explanation_picture import draw_explanation
    from visualwords.files import write_atomically
    from visualwords.images import encode_image, read_image

    pixels = draw_explanation(read_image(image, max_side=1200), explanation, labels)
    kind = KINDS[os.path.splitext(output)[1].lower()]
    write_atomically(output, encode_image(pixels, kind))
    note(f"{output}: evidence written")


def _summary(image: str, explanation: "Explanation", labels: list[str]) -> dict[str, object]:
    chances = explanation.probabilities
    columns = {label: explanation.column_of(label) for label in labels}
    return {
        "path": image,
        "label": explanation.label,
        "novelty": explanation.novelty,
        "exact": explanation.exact,
        "method": explanation.method,
        "classes": {
            label: {
                "score": float(explanation.scores[i]),
                "offset": float(explanation.offsets[i]),
                "evidence": float(explanation.scores[i] - explanation.offsets[i]),
                "probability": None if chances is None else float(chances[i]),
                "telling": {
                    one.name: one.value for one in explanation.discriminative_words(label, N_WORDS)
                },
            }
            for label, i in columns.items()
        },
    }


def _print(explanation: "Explanation", labels: list[str]) -> None:
    from rich.table import Table
    from rich.text import Text

    from visualwords.apps.command_line.terminal import printable, stdout

    sums = Table("class", title="scores and their parts", title_justify="left")
    for name in (
        "probability",
        "score",
        "= offset",
        *(f"+ {c.name}" for c in explanation.channels),
    ):
        sums.add_column(Text(name), justify="right")
    for label in labels:
        i = explanation.column_of(label)
        chance = "" if explanation.probabilities is None else f"{explanation.probabilities[i]:.1%}"
        parts = [f"{c.evidence[:, i].sum(dtype=float):+.4f}" for c in explanation.channels]
        numbers = [
            f"{explanation.scores[i]:+.4f}",
            f"{explanation.offsets[i].round(6) + 0.0:+.4f}",
            *parts,
        ]
        sums.add_row(Text(printable(label)), chance, *numbers)
    title = Text(f"most discriminative for {printable(labels[0])}")
    words = Table(title=title, title_justify="left")
    for name in ("word", "adds"):
        words.add_column(name, justify="right" if name == "adds" else "left")
    for one in explanation.discriminative_words(labels[0], N_WORDS):
        color = "green" if one.value > 0 else "red"
        words.add_row(Text(one.name), Text(f"{one.value:+.4f}", color))
    stdout().print(sums)
    stdout().print(words)
    stdout().print(Text(("Exact. " if explanation.exact else "Attributed: ") + explanation.method))
