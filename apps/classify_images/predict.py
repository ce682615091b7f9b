"""classify-images predict"""

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from visualwords.apps.classify_images import options
from visualwords.apps.command_line import options as shared
from visualwords.apps.command_line.options import argument, flag
from visualwords.apps.command_line.terminal import note, results_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from visualwords.apps.classify_images.prediction_output import Form
    from visualwords.apps.classify_images.running import Run
    from visualwords.apps.pipeline.classifier import ImageClassifier
    from visualwords.apps.pipeline.predictions import Answer


class Predict(options.Deciding, options.Reading):
    """Predict the labels of IMAGES (files, folders of files, or - for paths on stdin) with MODEL.

    A video, the number of a camera or an address (rtsp://…) is followed frame by frame, and a
    line is printed for each; such sources and images are given in separate commands.

    Paths on stdin end with a newline, or with NUL, as find -print0 prints them.

    The class with the highest probability is the label, unless costs, thresholds or --unknown,
    given here or to train, decide otherwise. Probabilities are calibrated on training images. A
    score is the signed distance from the boundary between a class and all others. Novelty is the
    share of known images that are less strange than the image.
    """

    model: str = argument("model")
    images: tuple[str, ...] = argument("images", nargs=-1, required=True)
    output: str | None = flag(
        "-o --output FILE",
        "Write the results to FILE; .csv and .json name the format [default: print them].",
        shared.OUTPUT,
    )
    top: int | None = flag(
        "--top N",
        "Number of classes to print for each image, best first [default: 1; of JSON all].",
    )
    sort_into: str | None = options.sort_into
    as_csv: bool = shared.as_csv
    raw: bool = shared.raw
    min_confidence: float = options.min_confidence
    network: str | None = options.network
    allow_url: bool  # one of the next options
    stream: Any = shared.streams

    def work(self, run: "Run") -> None:
        """Predict, print, and sort if that was asked for."""
        from visualwords.apps.classify_images.prediction_output import Form, follow, print_answers
        from visualwords.errors import FolderError

        name = options.output_format(self.as_json, self.as_csv, self.output, "table")
        live = self.live_sources()
        classifier = run.load(self.model, self.network, self)
        if self.min_confidence and classifier.calibration_ is None:
            raise FolderError(
                f"{self.model}: the model has no probabilities, because its training images were "
                "too few; omit --min-confidence or train on more images"
            )
        top = self.top or (len(classifier.classes_) if name == "json" else 1)
        form = Form(name, top, self.min_confidence, self.raw)
        if live:
            classifier.set_params(cache_dir=None)  # a frame is seen once
            run.skip(list(follow(classifier, live, form, self.stream)))
            run.check_strict()
            return
        paths, labelled = self.paths(run), dict[str, str | None]()
        with results_in(self.output, held=self.strict):
            print_answers(self.answers(run, classifier, paths, form, labelled), form, run.skipped)
        if self.sort_into is not None and labelled:
            _sort(run, labelled, self.sort_into, classifier)
        if not labelled:
            run.exit_code()
            raise FolderError("none of the images could be read")

    def answers(
        self,
        run: "Run",
        classifier: "ImageClassifier",
        paths: list[str],
        form: "Form",
        labelled: dict[str, str | None],
    ) -> "Iterator[list[Answer]]":
        """Predict images as they come; put their labels into ``labelled``, None for no class.

        On a terminal few rows follow the bar of their progress, and many take its place.
        """
        from visualwords.apps.classify_images.prediction_output import MOST_ROWS
        from visualwords.apps.pipeline.predictions import label_each

        waiting: list[Answer] = []
        is_watched, are_many = sys.stdout.isatty(), len(paths) > MOST_ROWS
        with run.progress(hidden=is_watched and are_many) as progress:
            for answers, skipped in label_each(
                classifier, paths, form.top, form.min_confidence, progress=progress
            ):
                run.skip(skipped)
                labelled |= {one.path: one.label if one.is_confident else None for one in answers}
                if is_watched and not are_many:
                    waiting += answers
                else:
                    yield answers
        yield waiting
        run.check_strict()

    def live_sources(self) -> list[str]:
        """The videos, cameras and addresses; none where all sources are images or folders."""
        from visualwords.frames import kind_of_source

        shared.check_addresses(self.images, self.allow_url)
        live = [name for name in self.images if kind_of_source(name) not in ("image", "folder")]
        if live and len(live) < len(self.images):
            raise click.UsageError(
                f"{live[0]} has frames and others are images; give them in separate commands"
            )
        if live and (self.output is not None or self.sort_into is not None):
            raise click.UsageError("frames are printed; omit -o and --sort-into")
        return live

    def paths(self, run: "Run") -> list[str]:
        """The image files, without copies that an earlier run sorted into the folder."""
        from visualwords.folders import list_files

        names: list[str] = []
        for name in self.images:
            if name == "-":
                given = sys.stdin.buffer.read()
                lines = given.split(b"\0") if b"\0" in given else given.splitlines()
                names += [os.fsdecode(line) for line in lines if line]
            else:
                names.append(name)
        paths: list[str] = []
        for name in names:
            if os.path.isdir(name):
                files, skipped = list_files(name)
                paths += files
                run.skip(skipped)
            else:
                paths.append(name)
        if self.sort_into is None:
            return paths
        sorted_already = os.path.join(os.path.realpath(self.sort_into), "")
        return [path for path in paths if not os.path.realpath(path).startswith(sorted_already)]


def _sort(
    run: "Run", labelled: dict[str, str | None], folder: str, classifier: "ImageClassifier"
) -> None:
    from visualwords.apps.command_line.sort_into import folder_of_rejected, sort_images

    rejected = folder_of_rejected([str(name) for name in classifier.classes_])
    labels = [rejected if label is None else label for label in labelled.values()]
    with run.progress() as progress:
        sort_images(list(labelled), labels, folder, progress=progress)
    note(f"{folder}: {len(labels)} images in {len(set(labels))} folders")


predict = Predict.command()
