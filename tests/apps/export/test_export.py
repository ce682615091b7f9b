"""A whole model as one ONNX file: its answers, its metadata, what is refused."""

import json

import numpy as np
import onnx
import onnxruntime
import pytest

import visualwords
from tests.apps.export.graphs import images
from visualwords import ImageClassifier, Recipe
from visualwords.apps.classify_images.demo_images import texture_tiles
from visualwords.apps.classify_images.main import main
from visualwords.apps.export import export_onnx, exportable_reason
from visualwords.apps.export.exporting import ExportError
from visualwords.apps.pipeline.recipes import RECIPES
from visualwords.errors import RecipeError

TILES, LABELS = texture_tiles("train")
FEW = slice(0, None, 9)


COLOR = Recipe.from_toml("""
    name = "color"
    [[channels]]
    extractor = "ColorHistogram"
""")
FISHER = Recipe.from_toml("""
    name = "fisher-of-sift"
    [[channels]]
    extractor = "DenseSIFT"
    params = { bin_size = [4, 6], root = true }
    fisher = { n_gaussians = 16 }
    [[channels]]
    extractor = "ColorHistogram"
    params = { bins = 6, space = "hsv", windows = 3 }
    [classifier]
    kind = "linear"
""")


def trained(recipe, **settings):
    return ImageClassifier(recipe=recipe, **settings).fit(TILES[FEW], LABELS[FEW])


@pytest.fixture(scope="module")
def tiny():
    return trained("tiny")


def answers(path, pictures):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    found = [session.run(["label", "probabilities"], {"image": one[None]}) for one in pictures]
    return [label[0] for label, _ in found], np.concatenate([p for _, p in found])


@pytest.mark.parametrize("recipe", ["tiny", "words", FISHER], ids=str)
def test_the_file_answers_as_the_model_does_whatever_the_size(recipe, tmp_path):
    model, path = trained(recipe), tmp_path / "model.onnx"
    visualwords.export_onnx(model, path)
    pictures = [*TILES[1::40], *images()]
    labels, chances = answers(path, pictures)
    np.testing.assert_allclose(chances, model.predict_proba(pictures), atol=0.02)
    assert np.mean(labels == model.predict(pictures)) >= 0.95


def test_costs_thresholds_and_two_classes_decide_as_in_the_model(tmp_path):
    one, other = sorted(set(LABELS))[:2]
    kept = [i for i, label in enumerate(LABELS) if label in (one, other)][::5]
    path = tmp_path / "two.onnx"
    for settings in ({"costs": {(one, other): 50}}, {"thresholds": {one: 0.999, other: 0.999}}):
        model = ImageClassifier(recipe=COLOR, **settings)
        model.fit([TILES[i] for i in kept], [LABELS[i] for i in kept])
        export_onnx(model, path)
        pictures = list(images())
        assert answers(path, pictures)[0] == model.predict(pictures).tolist()


def test_metadata_says_what_the_file_is(tiny, tmp_path):
    tiny.save(tmp_path / "tiny.vw")
    path = tmp_path / "tiny.onnx"
    assert main(["export", str(tmp_path / "tiny.vw"), "-o", str(path), "--size", "64x64"]) == 0
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)  # with the inference of shapes
    known = {one.key: one.value for one in model.metadata_props}
    assert json.loads(known["classes"]) == tiny.classes_.tolist()
    assert known["recipe"] == "tiny"
    assert known["size"] == "64x64"
    assert len(known["model_sha256"]) == 64
    assert {one.domain for one in model.opset_import} == {""}
    labels, _ = answers(path, TILES[:5])
    assert labels == tiny.predict(TILES[:5]).tolist()


def test_another_runtime_gives_the_same_numbers(tiny, tmp_path):
    from onnx.reference import ReferenceEvaluator

    export_onnx(tiny, tmp_path / "tiny.onnx")
    picture = TILES[0][:24, :31]
    runtime = ReferenceEvaluator(str(tmp_path / "tiny.onnx"))
    chances = runtime.run(["probabilities"], {"image": picture[None]})
    np.testing.assert_allclose(chances[0], tiny.predict_proba([picture]), atol=1e-5)


def test_what_has_no_operators_is_refused_by_channel_and_with_a_recipe_that_has(tiny, tmp_path):
    assert "channel 1 (DenseSIFT)" in (exportable_reason(RECIPES["pyramid-match"]) or "")
    model = trained("pyramid-match")
    with pytest.raises(RecipeError, match=r"channel 1 .* recipe fisher"):
        export_onnx(model, tmp_path / "sets.onnx")
    with pytest.raises(RecipeError, match="train it without unknown"):
        export_onnx(trained(COLOR, unknown=0.05), tmp_path / "unknown.onnx")


def test_a_graph_with_other_labels_is_not_written(tiny, tmp_path, monkeypatch):
    path = tmp_path / "wrong.onnx"
    monkeypatch.setattr(tiny, "predict", lambda images: np.array(["other"] * len(images)))
    with pytest.raises(ExportError, match="nothing was written"):
        export_onnx(tiny, path)
    assert not path.exists()


def test_mixed_channels_with_weights_and_views_of_small_images(tmp_path):
    channels = """
        name = "mixed"
        max_side = 60
        min_side = 50
        [[channels]]
        extractor = "ColorStatistics"
        fisher = { n_gaussians = 4, n_components = 10 }
        weight = 0.7
        [[channels]]
        extractor = "DenseFilters"
        second_order = { n_components = 6 }
        [[channels]]
        extractor = "Centrist"
        params = { layout = "pyramid" }
        weight = 2.0
        [classifier]
        kind = "linear"
    """
    model = trained(Recipe.from_toml(channels))
    export_onnx(model, tmp_path / "mixed.onnx")
    pictures = [*TILES[1::40], *images()]
    labels, chances = answers(tmp_path / "mixed.onnx", pictures)
    np.testing.assert_allclose(chances, model.predict_proba(pictures), atol=0.02)
    assert labels == model.predict(pictures).tolist()


def test_power_mean_kernels_are_sums_of_vectors_of_levels(tmp_path):
    kernel = '[classifier]\nkind = "pmsvm"\nkernel = "chi2"'
    recipe = Recipe.from_toml(f'[[channels]]\nextractor = "ColorHistogram"\n{kernel}')
    model = trained(recipe)
    export_onnx(model, tmp_path / "chi2.onnx")
    labels, chances = answers(tmp_path / "chi2.onnx", TILES[:9])
    np.testing.assert_allclose(chances, model.predict_proba(TILES[:9]), atol=1e-5)
    assert labels == model.predict(TILES[:9]).tolist()


def test_a_page_names_the_model_beside_it_and_no_class_ends_its_script(tmp_path):
    hostile = "</script><script>alert(1)</script>"
    names = [hostile if label == LABELS[0] else label for label in LABELS[FEW]]
    ImageClassifier(COLOR).fit(TILES[FEW], names).save(tmp_path / "m.vw")
    assert main(["export", str(tmp_path / "m.vw"), "-o", str(tmp_path / "my photos.html")]) == 0
    page = (tmp_path / "my photos.html").read_text()
    assert "my%20photos.onnx" in page
    assert page.count("</script>") == 2
    assert (tmp_path / "my photos.onnx").exists()
    assert main(["export", str(tmp_path / "m.vw"), "-o", str(tmp_path / "m.pdf")]) == 2
