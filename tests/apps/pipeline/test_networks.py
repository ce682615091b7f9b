"""Models of recipes with networks: pinned by content, found beside the model, refused otherwise."""

import shutil

import numpy as np
import pytest
from onnx import TensorProto, helper, save

from visualwords import ImageClassifier, load
from visualwords.apps.pipeline.recipe import Channel, Recipe, Words
from visualwords.errors import ModelFileError
from visualwords.features.onnx_file import read_network

SIZE = 16


@pytest.fixture
def network(tmp_path):
    """A network that gives signed means of colours, and the pixels as maps."""
    nodes = [
        helper.make_node("GlobalAveragePool", ["pixels"], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["embedding"]),
        helper.make_node("AveragePool", ["pixels"], ["maps"], kernel_shape=[4, 4], strides=[4, 4]),
    ]
    shapes = {"embedding": ("n", 3), "maps": ("n", 3, 4, 4)}
    graph = helper.make_graph(
        nodes,
        "colours",
        [helper.make_tensor_value_info("pixels", TensorProto.FLOAT, ("n", 3, SIZE, SIZE))],
        [helper.make_tensor_value_info(k, TensorProto.FLOAT, s) for k, s in shapes.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    (tmp_path / "nets").mkdir()
    path = tmp_path / "nets" / "colours.onnx"
    save(model, path)
    return path


@pytest.fixture
def images(rng):
    pixels = rng.integers(0, 120, (24, 20, 20, 3), dtype=np.uint8)
    pixels[::2, :, :, 0] += 120
    return list(pixels), ["red", "dark"] * 12


def recipe_of(network, output=None, **options):
    params = {"path": str(network), "output": output, "mean": 0.5, "std": 0.5}
    return Recipe("net", "a network", (Channel("ONNXFeatures", params, **options),))


KINDS = {
    "linear": ({"power": None, "linear": True}, "ByteLinearClassifier", None),
    "HIK of split signs": ({"power": None}, "ICDClassifier", None),
    "words of patches": (
        {"words": Words(codebook_params={}, n_words=8, pyramid=1)},
        "ICDClassifier",
        "maps",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_with_a_network_learns_is_saved_and_finds_it_again(kind, network, images, tmp_path):
    options, classifier, output = KINDS[kind]
    recipe = recipe_of(network, output, **options)
    recipe = Recipe(recipe.name, recipe.summary, recipe.channels, classifier=classifier)
    model = ImageClassifier(recipe).fit(*images)
    assert model.score(*images) > 0.9
    model.save(network.parent / "m.vw")
    again = load(network.parent / "m.vw")
    scores = model.decision_function(images[0])
    np.testing.assert_allclose(again.decision_function(images[0]), scores, atol=1e-5)
    assert "nets" not in (network.parent / "m.vw").read_bytes().decode("latin-1")


def test_a_network_elsewhere_is_given_and_another_one_is_refused(
    network, images, tmp_path, monkeypatch
):
    options, classifier, _ = KINDS["linear"]
    recipe = recipe_of(network, **options)
    recipe = Recipe(recipe.name, recipe.summary, recipe.channels, classifier=classifier)
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


def test_the_recipe_keeps_the_sha256(network, images):
    options, classifier, _ = KINDS["linear"]
    recipe = recipe_of(network, **options)
    recipe = Recipe(recipe.name, recipe.summary, recipe.channels, classifier=classifier)
    model = ImageClassifier(recipe).fit(*images)
    assert model.recipe_.channels[0].params["sha256"] == read_network(str(network))[2]
