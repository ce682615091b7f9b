"""classify-images explain"""

import os
from typing import TYPE_CHECKING

import click

from visualwords.apps.classify_images import options
from visualwords.apps.command_line.terminal import Cell, note, print_json, print_table, show
from visualwords.apps.command_line.verb import OUTPUT, Work, argument, as_json, flag

if TYPE_CHECKING:
    from visualwords.apps.explanation.explanation import Explanation

N_CLASSES, N_WORDS = 3, 8
KINDS = {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg"}  # of pictures that can be written


class Explain(Work):
    """Show which parts of IMAGE raise or lower the score of a class of MODEL.

    The score of a class is the sum of the evidence of all places, plus an offset.

    Parameters
    ----------
    output
        Write a picture of the evidence, laid over the image.
    labels
        Class to explain; may be repeated [default: the three best].
    """

    model: str = argument()
    image: str = argument()
    output: str | None = flag("-o --output heat.png", kind=OUTPUT)
    labels: tuple[str, ...] = flag("--label L", shell_complete=options.complete_classes)
    network: str | None = options.network
    as_json: bool = as_json

    def run(self) -> None:
        """Explain, draw, and print."""
        from visualwords import ImageClassifier
        from visualwords.apps.explanation.pictures import draw_explanation
        from visualwords.files import write_atomically
        from visualwords.images import encode_image, read_image

        kind = KINDS.get(os.path.splitext(self.output or "")[1].lower(), "")
        if self.output is not None and not kind:
            raise click.BadParameter(f"{self.output}: name a file ending in {', '.join(KINDS)}")
        classifier = ImageClassifier.load(self.model, network=self.network)
        for label in self.labels:
            if label not in classifier.classes_:
                known = ", ".join(classifier.classes_)
                raise click.BadParameter(f"{self.model} has no class {label!r}; it knows {known}")
        found = classifier.explain(self.image)
        labels = list(self.labels) or found.ranked[:N_CLASSES]
        if self.output is not None:
            pixels = draw_explanation(read_image(self.image, max_side=1200), found, labels)
            write_atomically(self.output, encode_image(pixels, kind))
            note(f"{self.output}: evidence written")
        if self.as_json:
            about = {"label": found.label, "novelty": found.novelty, "exact": found.exact}
            classes = {label: _figures(found, label) for label in labels}
            print_json({"path": self.image, **about, "method": found.method, "classes": classes})
        else:
            _print(found, labels)


def _figures(found: "Explanation", label: str) -> dict[str, object]:
    i, chances = found.column_of(label), found.probabilities
    return {
        "score": float(found.scores[i]),
        "offset": float(found.offsets[i]),
        "evidence": float(found.scores[i] - found.offsets[i]),
        "probability": None if chances is None else float(chances[i]),
        "discriminative_words": {
            one.name: one.value for one in found.discriminative_words(label, N_WORDS)
        },
    }


def _print(found: "Explanation", labels: list[str]) -> None:
    numbers = ["probability", "score", "= offset", *(f"+ {c.name}" for c in found.channels)]
    rows = []
    for label in labels:
        i, chances = found.column_of(label), found.probabilities
        parts = [c.evidence[:, i].sum(dtype=float) for c in found.channels]
        sums = [found.scores[i], found.offsets[i].round(6) + 0.0, *parts]
        chance = "" if chances is None else f"{chances[i]:.1%}"
        rows.append([label, chance, *(f"{number:+.4f}" for number in sums)])
    print_table(["class", *numbers], rows, right=numbers, title="scores and their parts")
    words: list[list[Cell]] = [
        [one.name, (f"{one.value:+.4f}", "green" if one.value > 0 else "red")]
        for one in found.discriminative_words(labels[0], N_WORDS)
    ]
    title = f"most discriminative for {labels[0]}"
    print_table(["word", "adds"], words, right=["adds"], title=title)
    show(("Exact. " if found.exact else "Attributed: ") + found.method)
