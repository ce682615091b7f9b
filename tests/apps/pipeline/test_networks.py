"""Models of recipes with networks: pinned by content, found beside the model, refused otherwise."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
from onnx import TensorProto, helper, save
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from tests.apps.conftest import write_png
from visualwords import ImageClassifier, load
from visualwords.apps.classify_images.main import main
from visualwords.apps.pipeline.channel import Channel, Classifier, Words
from visualwords.apps.pipeline.composing import compose
from visualwords.apps.pipeline.costs import Images, cost_of
from visualwords.apps.pipeline.networks import pin_networks, read_networks
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.errors import ModelFileError, RecipeError
from visualwords.features import onnx as onnx_features
from visualwords.features.onnx import read_network
from visualwords.model_file import read_model, write_model

SIZE = 16


@pytest.fixture(autouse=True)
def no_trial(monkeypatch):
    """Leave out the first run in another process; tests/features tries it."""
    monkeypatch.setattr(onnx_features, "check_runs", lambda *settings: None)


def write_network(path, maps="maps"):
    """Write a network that gives signed means of colours, and the pixels as maps."""
    nodes = [
        helper.make_node("GlobalAveragePool", ["pixels"], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["embedding"]),
        helper.make_node("AveragePool", ["pixels"], [maps], kernel_shape=[4, 4], strides=[4, 4]),
    ]
    shapes = {"embedding": ("n", 3), maps: ("n", 3, 4, 4)}
    graph = helper.make_graph(
        nodes,
        "colours",
        [helper.make_tensor_value_info("pixels", TensorProto.FLOAT, ("n", 3, SIZE, SIZE))],
        [helper.make_tensor_value_info(k, TensorProto.FLOAT, s) for k, s in shapes.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    path.parent.mkdir(exist_ok=True)
    save(model, path)
    return path


@pytest.fixture
def network(tmp_path):
    return write_network(tmp_path / "nets" / "colours.onnx")


@pytest.fixture
def images(rng):
    pixels = rng.integers(0, 120, (24, 20, 20, 3), dtype=np.uint8)
    pixels[::2, :, :, 0] += 120
    return list(pixels), ["red", "dark"] * 12


def recipe_of(network, output=None, **options):
    params = {"path": str(network), "output": output, "mean": 0.5, "std": 0.5}
    return Recipe("net", "a network", (Channel("ONNXFeatures", params, **options),))


LINEAR, ICD = Classifier("linear"), Classifier("icd")
KINDS = {
    "linear": ({"power": None}, LINEAR, None),
    "HIK of split signs": ({"power": None}, ICD, None),
    "words of patches": ({"words": Words("kmeans", 8, 1)}, ICD, "maps"),
}


def linear_recipe(network):
    return replace(recipe_of(network, power=None), classifier=LINEAR)


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_with_a_network_learns_is_saved_and_finds_it_again(kind, network, images, tmp_path):
    options, classifier, output = KINDS[kind]
    recipe = replace(recipe_of(network, output, **options), classifier=classifier)
    model = ImageClassifier(recipe).fit(*images)
    assert model.score(*images) > 0.9
    assert model.recipe_.channels[0].params["sha256"] == read_network(str(network))[2]
    model.save(network.parent / "m.vw")
    again = load(network.parent / "m.vw")
    scores = model.decision_function(images[0])
    np.testing.assert_allclose(again.decision_function(images[0]), scores, atol=1e-5)
    assert "nets" not in (network.parent / "m.vw").read_bytes().decode("latin-1")
    if output == "maps":
        found = model.explain(images[0][0])
        assert found.exact
        for label, score, offset in zip(found.classes, found.scores, found.offsets):
            assert abs(found.heat_map(label).sum(dtype=float) + offset - score) < 1e-5


def test_a_network_elsewhere_is_given_and_another_one_is_refused(
    network, images, tmp_path, monkeypatch
):
    recipe = linear_recipe(network)
    ImageClassifier(recipe).fit(*images).save(tmp_path / "m.vw")
    with pytest.raises(ModelFileError, match=r"needs the network colours\.onnx .*--network PATH"):
        load(tmp_path / "m.vw")
    for given in (network, network.parent):
        assert load(tmp_path / "m.vw", network=given).classes_.tolist() == ["dark", "red"]
    monkeypatch.setenv("VISUALWORDS_NETWORKS", str(network.parent))
    assert load(tmp_path / "m.vw").classes_.tolist() == ["dark", "red"]
    monkeypatch.delenv("VISUALWORDS_NETWORKS")
    shutil.copy(network, tmp_path / "colours.onnx")
    with open(tmp_path / "colours.onnx", "ab") as file:
        file.write(b"\x0a\x00")  # an empty field: the same network, another file
    with pytest.raises(ModelFileError, match="is another one"):
        load(tmp_path / "m.vw")


def test_words_of_signed_patches_are_learned_by_plain_kmeans(network):
    feature = f"onnx:{network}(output='maps', mean=0.5, std=0.5)"
    made = compose(features=[feature], changes=[("words", 8)])
    assert made.channels[0].words == Words("kmeans", 8)
    assert compose(features=["DenseSIFT"]).channels[0].words == Words()


def test_scaling_from_the_file_beside_the_network_is_kept_in_the_recipe(network, images):
    network.with_suffix(".toml").write_text("mean = 0.5\nstd = [0.5, 0.5, 0.5]\n")
    channel = Channel("ONNXFeatures", {"path": str(network)}, power=None)
    recipe = Recipe("net", "", (channel,), classifier=LINEAR)
    params = ImageClassifier(recipe).fit(*images).recipe_.channels[0].params
    assert (params["mean"], params["std"]) == (0.5, [0.5, 0.5, 0.5])


@pytest.fixture
def folder(images, tmp_path):
    for number, (pixels, label) in enumerate(zip(*images)):
        write_png(tmp_path / "photos" / label / f"{number}.png", pixels)
    return tmp_path / "photos"


def test_the_command_finds_a_network_by_its_flag_or_in_the_model(
    network, folder, tmp_path, capsys, monkeypatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    image, feature = str(folder / "red" / "0.png"), f"onnx:{network}(mean=0.5, std=0.5)"
    for name, more in (("apart.vw", []), ("whole.vw", ["--embed-network"])):
        model = str(tmp_path / name)
        assert main(["train", str(folder), "-o", model, "--feature", feature, *more]) == 0
        assert ("is in the model: 0.0 MB" in capsys.readouterr().err) == bool(more)
    assert main(["predict", str(tmp_path / "apart.vw"), image]) == 4
    assert "--network PATH" in capsys.readouterr().err
    commands = (
        ["predict", "M", image, "--no-cache"],
        ["explain", "M", image],
        ["evaluate", "M", str(folder), "--no-cache"],
        ["check", "M"],
    )
    for verb, _, *others in commands:
        given = [verb, str(tmp_path / "apart.vw"), *others, "--network", str(network)]
        assert main(given) == 0
    network.unlink()
    for verb, _, *others in commands:
        assert main([verb, str(tmp_path / "whole.vw"), *others]) == 0


def test_an_embedded_network_that_was_exchanged_is_refused(network, images, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    model = ImageClassifier(linear_recipe(network)).fit(*images)
    model.save(tmp_path / "m.vw", embed_network=True)
    network.unlink()
    scores = load(tmp_path / "m.vw").decision_function(images[0][:3])
    (kept,) = (tmp_path / "user").rglob("colours.onnx")
    kept.write_bytes(b"another")  # in the user's cache folder: it is written again
    np.testing.assert_array_equal(load(tmp_path / "m.vw").decision_function(images[0][:3]), scores)
    manifest, arrays = read_model(tmp_path / "m.vw")
    (name,) = (name for name in arrays if name.startswith("networks/"))
    write_model(tmp_path / "evil.vw", manifest, arrays | {name: arrays[name][::-1].copy()})
    with pytest.raises(ModelFileError, match="not the one that the recipe names"):
        load(tmp_path / "evil.vw")


def test_a_network_with_weights_in_other_files_is_not_embedded(network, monkeypatch):
    monkeypatch.setattr(onnx_features, "read_network", lambda path: (b"", ["weights"], "0" * 64))
    with pytest.raises(RecipeError, match="in files of their own and can't be embedded"):
        read_networks(recipe_of(network).channels)


def test_auto_weighs_a_network_beside_its_library(network, images):
    (channel,) = recipe_of(network, power=None).channels
    auto = ImageClassifier(channels=[channel], budget=0.001).fit(*images)
    assert auto.cross_validated_ == 1.0
    (chosen,) = [one for one in auto.recipe_.channels if one.is_network]
    assert chosen.params["sha256"] == read_network(str(network))[2]


def test_what_a_network_costs_depends_on_its_file_alone(network):
    recipe = pin_networks(recipe_of(network))
    assert 10 < recipe.channels[0].cost < 10.1
    small, large = (cost_of(recipe, Images(500, (side,))) for side in ((32, 32), (640, 480)))
    assert small == large


def test_the_command_lets_auto_search_with_a_network(network, folder, tmp_path, capsys):
    command = ["train", str(folder), "-o", str(tmp_path / "m.vw")]
    feature = f"onnx:{network}(mean=0.5, std=0.5)"
    auto = [*command, "--recipe", "auto", "--feature"]
    assert main([*auto, feature, "--budget", "0.001s", "--no-cache"]) == 0
    assert "colours" in capsys.readouterr().err  # given channels are tried whatever they cost
    assert main([*auto, f"onnx:{network}(output='maps', mean=0.5, std=0.5)"]) == 2
    assert "one vector an image" in capsys.readouterr().err
    assert main([*command, "--recipe", "tiny", "--embed-network"]) == 2
    assert "no channel of the recipe is a network" in capsys.readouterr().err


class Brightness:
    """A transformer of images, as scikit-learn knows them."""

    def transform(self, images):
        return np.array([image.mean(axis=(0, 1)) for image in images])


def test_a_fitted_transformer_is_a_channel_that_can_not_be_saved(images, tmp_path):
    transformer = make_pipeline(FunctionTransformer(Brightness().transform), StandardScaler())
    transformer.fit(images[0])
    channel = Channel(extractor=transformer, power=None)
    recipe = Recipe("mine", "", (channel, Channel("ColorHistogram", {"bins": 2})))
    model = ImageClassifier(recipe).fit(*images)
    assert model.score(*images) > 0.9
    assert model.transform(images[0][:2]).shape == (2, 3 + 8)
    with pytest.raises(RecipeError, match="channel 1 is a fitted Pipeline, which a model file"):
        model.save(tmp_path / "m.vw")
    assert Channel(extractor=transformer, power=None) == channel
    with pytest.raises(TypeError, match="needs transform"):
        Channel(extractor=7)
    with pytest.raises(ValueError, match="of another program"):
        Channel("transformer:Pipeline-0").build()
