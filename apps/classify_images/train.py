"""classify-images train"""

import os
from typing import TYPE_CHECKING, Any

import click

from visualwords.apps.classify_images import options
from visualwords.apps.classify_images.evaluate import run_test, show_trial
from visualwords.apps.command_line import verb
from visualwords.apps.command_line.terminal import equivalent_command, note, say, say_skipped
from visualwords.apps.command_line.verb import argument, flag
from visualwords.errors import FolderError, VisualWordsError

if TYPE_CHECKING:
    from visualwords import ImageClassifier, Recipe
    from visualwords.folders import ImageFolder

MOST_THUMBNAILS = 5000
FEW_IMAGES = 10  # of a class
USELESS = 0.6  # area under the ROC curve of novelty below which --unknown is not worth it
OWN_RECIPE = "RECIPE.toml"  # that `info` prints


class Train(options.Deciding, options.Composing, options.Reading):
    """Train on the labelled images of FOLDER and write a model file.

    FOLDER has one sub-folder for each class, or train, val and test folders of such, or is a CSV
    or JSONL table with the columns path and label (and split, group). Features are cached: a
    second run, or one after an interruption, reuses them.

    Parameters
    ----------
    output
        Model file to write.
    budget
        Search budget of auto, in time of two reference cores: 90s, 10m, 1h. The choice does not
        depend on the clock.
    test_size
        Hold out this share of every class for testing, such as 0.2.
    name
        Name of the model, kept in its file.
    note
        Remark on the model, kept in its file.
    test
        Test on these labelled images.
    folds
        Test by cross-validation in N folds; the saved model is trained on all images.
    metric
        What auto optimises: mean-per-class (all classes alike), accuracy (all images alike), or
        cost (the mean of --cost).
    class_weight
        Let all classes count alike, in the classifier and in the probabilities [default: between
        images and classes, in the probabilities].
    alarm
        Also decide whether an image shows any of these classes, by one threshold for the sum of
        their probabilities; labels do not change.
    escapes
        Choose the alarm's threshold so that this share of its images raise no alarm [default: the
        lowest mean cost on folds].
    false_alarms
        Choose the alarm's threshold so that this share of the other images raise it.
    exportable
        Refuse recipes that `export` can't write as an ONNX file.
    deadline
        Time by the clock that auto may take; changes that it did not try are listed.
    memory
        Memory for feature vectors, such as 2GB; beyond it, train from disk (recipes of histograms,
        words or Fisher vectors).
    thumbnails
        Store thumbnails of at most 5,000 training images in the model, 2 kB each, so that its page
        can show similar images [default: yes].
    embed_network
        Store the ONNX files of the recipe in the model [default: names and SHA-256 only].
    """

    folder: str = argument()
    output: str = flag("-o --output M.vw", kind=verb.OUTPUT, required=True)
    budget: float = flag("--budget TIME", default="60s")
    test_size: float | None = flag("--test-size SHARE")
    report: str | None = verb.report
    name: str | None = flag("--name TEXT")
    note: str | None = flag("--note TEXT")
    label_from: str | None = options.label_from
    test: str | None = flag("--test DIR", kind=verb.PATH)
    folds: int | None = flag("--folds N", kind=verb.FOLDS)
    metric: str = flag(
        "--metric NAME",
        kind=click.Choice(["mean-per-class", "accuracy", "cost"]),
        default="mean-per-class",
    )
    class_weight: str | None = flag("--class-weight balanced", kind=click.Choice(["balanced"]))
    alarm: str | None = flag("--alarm CLASS[,CLASS…]")
    escapes: float | None = flag("--escapes RATE")
    false_alarms: float | None = flag("--false-alarms RATE")
    exportable: bool = flag("--exportable")
    deadline: float | None = flag("--deadline TIME")
    memory: int | None = flag("--memory SIZE")
    thumbnails: bool = flag("--thumbnails/--no-thumbnails", default=True)
    embed_network: bool = flag("--embed-network")
    seed: int = verb.seed

    def work(self) -> None:
        """Train, test where that was asked for, and save."""
        from visualwords.apps.evaluation.trial import cross_validate
        from visualwords.apps.pipeline.dataset import test_part
        from visualwords.apps.pipeline.stages import fingerprint_files
        from visualwords.duplicates import describe_duplicates
        from visualwords.folders import ImageFolder

        images, model = self.model()
        with self.progress() as progress:
            same = fingerprint_files(self.dataset(images), self.environment(progress))
        for sentence in [*images.warnings, *describe_duplicates(images, same)]:
            say(f"warning: {sentence}")
        training, testing, trial = images, None, None
        if self.test is not None:
            testing = test_part(ImageFolder(self.test, label_from=self.label_from))
        elif self.test_size is not None:
            training, testing = self.readable(images).split(self.test_size, self.seed)
        elif "train" in images.splits:
            training = images.part("train")
            testing = images.part("test") if "test" in images.splits else None
        if self.folds is not None:
            with self.progress() as progress:
                data = self.dataset(training)
                trial = cross_validate(model, data, self.folds, progress=progress)
        fit(self, model, training)
        say_what_is_weak(model)
        self.skip(images.skipped)
        self.check_strict()
        self.save(model)
        if self.unknown is not None:
            self.say_if_novelty_fails(model, training)
        summary = {
            "model": self.output,
            "recipe": model.recipe_.name,
            "recipe_toml": model.recipe_.to_toml(),
            "tried": model.tried_,
            "seconds": self.times.seconds,
        }
        if testing is not None and trial is None:
            trial = run_test(self, model, testing)
        if trial is not None:
            title = testing.path if testing else self.folder
            show_trial(self, model, trial, title, self.report, summary)
            return
        if self.report is not None:
            say("warning: no report is written without a test; add --test, --test-size or --folds")
        self.show_held_out(model, summary)

    def model(self) -> "tuple[ImageFolder, ImageClassifier]":
        """The images and the model to train, where all flags go together."""
        from visualwords import ImageClassifier
        from visualwords.apps.pipeline.decision import Alarm
        from visualwords.apps.pipeline.networks import read_networks
        from visualwords.folders import ImageFolder

        recipe, overrides = self.composed()
        if self.embed_network:
            with options.usage_checked():
                read_networks(overrides.get("channels", getattr(recipe, "channels", ())))
        if self.metric == "cost" and not self.costs:
            raise click.UsageError("--metric cost needs --cost TRUE:SAID=X, such as defect:ok=10")
        if self.exportable:
            self.check_exportable(recipe, overrides)
        alarm = None if self.alarm is None else [name.strip() for name in self.alarm.split(",")]
        if alarm is None and (self.escapes, self.false_alarms) != (None, None):
            raise click.UsageError("--escapes and --false-alarms need --alarm CLASS[,CLASS…]")
        options.at_most_one(escapes=self.escapes, false_alarms=self.false_alarms)
        options.at_most_one(test=self.test, test_size=self.test_size, folds=self.folds)
        images = ImageFolder(self.folder, label_from=self.label_from)
        self.decision(images.classes)
        if alarm is not None:
            with options.usage_checked():
                Alarm.of(images.classes, alarm)
        if len(images.classes) < 2:
            raise FolderError(
                f"{images.path}: found only class {images.classes[0]!r}; at least two classes are "
                "needed: make a folder of images for each, such as one of other images"
            )
        same_name = ["metric", "class_weight", "budget", "deadline", "memory"]
        same_name += ["escapes", "false_alarms"]
        return images, ImageClassifier(
            recipe,
            random_state=self.seed,
            thumbnails=self.thumbnails and len(images) <= MOST_THUMBNAILS,
            alarm=alarm,
            **self.rule,
            **{name: getattr(self, name) for name in same_name},
            **overrides,
            **self.resources,
        )

    def check_exportable(self, recipe: "str | Recipe", overrides: dict[str, Any]) -> None:
        """Refuse what can't be an ONNX file; all channels of auto's library can."""
        from visualwords.apps.export.exporting import exportable_reason
        from visualwords.apps.pipeline.recipe import Recipe

        if not isinstance(recipe, Recipe):
            recipe = Recipe(channels=tuple(overrides.get("channels", ())))
        reason = exportable_reason(recipe)
        if reason is not None:
            raise click.UsageError(f"--exportable: {reason}")

    def readable(self, images: "ImageFolder") -> "ImageFolder":
        """The images that can be read, near duplicates in one group; the others are noted."""
        from visualwords.apps.pipeline.near_duplicates import find_duplicates, keep_together

        data = self.dataset(images)
        with self.progress() as progress:
            sets, skipped = find_duplicates(data, self.environment(progress))
        self.skip(skipped)
        broken = {one.source for one in skipped}
        grouped = images.grouped(keep_together(data, sets))
        return grouped.select(i for i, path in enumerate(grouped.paths) if path not in broken)

    def save(self, model: "ImageClassifier") -> None:
        """Write the model file, and say what is in it."""
        from visualwords.apps.pipeline.model_io import today
        from visualwords.apps.pipeline.networks import read_networks

        output, embeds = self.output, self.embed_network and model.recipe_.has_network
        about: dict[str, Any] = {"name": self.name, "note": self.note, "date": today()}
        model.save(output, **about, embed_network=embeds)
        if embeds:  # auto may have left it out
            for sha256, content in read_networks(model.recipe_.channels).items():
                note(f"network {sha256[:12]}… is in the model: {content.nbytes / 1e6:.1f} MB")
        note(
            f"{output}: {model.class_counts_.sum()} images of {len(model.classes_)} classes, "
            f"recipe {model.recipe_.name}, {os.path.getsize(output) / 1000:,.0f} kB"
        )
        if model.decision_.alarm is not None:
            note(f"alarm: {model.decision_.alarm}")
        note(f"the recipe as TOML: classify-images info {output}")

    def say_if_novelty_fails(self, model: "ImageClassifier", images: "ImageFolder") -> None:
        """Measure novelty on classes that are left out, and warn where it is hardly a sign."""
        from visualwords.apps.pipeline.novelty import left_out_area

        with self.progress() as progress:
            area = left_out_area(model, self.dataset(images), self.environment(progress))
        if area is not None and area < USELESS:
            say(
                f"warning: --unknown will miss most images of other classes: with classes of "
                f"{images.path} left out, novelty ranked their images above known ones in "
                f"{area:.0%} of all pairs, where chance is 50 %"
            )

    def show_held_out(self, model: "ImageClassifier", summary: dict[str, Any]) -> None:
        """Show the figures of training images by models that did not learn from them."""
        from visualwords.apps.evaluation.figures import compare

        figures = None
        if model.held_out_ is None:
            note("no accuracy: a class has a single image or group; add images of it")
        else:
            truth, guesses, groups = model.held_out_
            evaluation = compare(truth, guesses, model.classes_.tolist(), groups)
            figures = evaluation.to_json()
            if not self.as_json:
                print(f"on folds of the training images: {evaluation.headline}")
            chosen = ", and nothing was chosen" if model.tried_ else ""
            note(f"--test-size 0.2 tests on images that no model learned from{chosen}")
        self.print_summary(summary | {"held_out": figures})


def fit(run: options.Reading, model: "ImageClassifier", images: "ImageFolder") -> None:
    """Fit a model, showing progress, and say what "auto" chose."""
    from visualwords.apps.pipeline.near_duplicates import describe_duplicates

    with run.progress() as progress:
        try:
            model.fit(run.dataset(images), progress=progress, warn=False)
        except VisualWordsError:
            say_skipped(getattr(model, "skipped_", []))
            raise
    run.skip(model.skipped_)
    if model.duplicates_:
        note(describe_duplicates(model.duplicates_))
    if model.tried_:
        note(f"chosen: {model.recipe_.name}")
    if model.cut_off_:
        again = equivalent_command(deadline=None, recipe=OWN_RECIPE, budget=None)
        say(
            f"the deadline of {model.deadline:g} s left no time for "
            f"{', '.join(model.cut_off_)}; this repeats the choice: {again}"
        )


def say_what_is_weak(model: "ImageClassifier") -> None:
    """Warn of few images of a class, and of a class that is called as no class is."""
    from visualwords.apps.pipeline.decision import UNKNOWN

    if UNKNOWN in model.classes_:
        say(
            f"warning: a class is called {UNKNOWN!r}; images that are none of the classes are "
            f"labelled {model.decision_.rejected!r} instead"
        )
    few = [f"{c} ({n})" for c, n in zip(model.classes_, model.class_counts_) if n < FEW_IMAGES]
    if few:
        say(
            f"warning: few images of class {', '.join(few)}; probabilities of such classes are "
            f"rough estimates, add images until there are {FEW_IMAGES} or more of each"
        )
