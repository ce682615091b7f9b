"""classify-images demo"""

import os

from visualwords.apps.classify_images.options import Reading
from visualwords.apps.command_line.options import flag
from visualwords.apps.command_line.terminal import note, typed

BUDGET = 2.0  # seconds of planned search: a demo must be quick


class Demo(Reading):
    """Train, test and report on images that ship with the dependencies.

    The images are tiles of six pictures bundled with scikit-image, training and test tiles from
    disjoint regions, and scikit-learn's handwritten digits. Nothing is downloaded.
    """

    output: str = flag(
        "-o --output DIR",
        "Output folder for images, models and reports.",
        default="visualwords-demo",
    )
    cache_dir, cache_size, no_cache, max_pixels = None, 0, True, 1_000_000
    scheduler, strict, as_json = None, True, False

    def run(self) -> int:
        """Write the images, and do with them what a user does."""
        from visualwords.apps.classify_images.demo_images import DEMOS, write_demo
        from visualwords.apps.classify_images.running import Run
        from visualwords.apps.pipeline.classifier import ImageClassifier
        from visualwords.folders import ImageFolder

        for name, summary in DEMOS.items():
            run, place = Run(self), os.path.join(self.output, name)
            images = ImageFolder(write_demo(name, place))
            training, testing = images.part("train"), images.part("test")
            classes = len(training.classes)
            note(f"{name}: {summary}; {len(training)} training images, {classes} classes")
            model = ImageClassifier("auto", budget=BUDGET, thumbnails=True)
            run.train(model, training)
            model.save(f"{place}.vw")
            trial = run.test(model, testing)
            run.show_trial(model, trial, f"{name}: {summary}", f"{place}.html", {})
            note("")
        tiles, program = os.path.join(self.output, "tiles"), "classify-images"
        bricks, own = os.path.join(tiles, "test", "brick"), ("PHOTOS", "-o", "photos.vw")
        for what, line in (  # as this user can type them
            ("Open the report", f"{tiles}.html"),
            ("Predict", typed(program, "predict", f"{tiles}.vw", bricks)),
            ("See why", typed(program, "serve", f"{tiles}.vw")),
            ("Correct and add", typed(program, "studio", os.path.join(tiles, "train"), "--open")),
            ("Your own images", typed(program, "train", *own, "--test-size", "0.2")),
        ):
            note(f"{what + ':':20}{line}")
        note(f"{'':20}(PHOTOS holds one folder of images for each class)")
        return 0


demo = Demo.command()
