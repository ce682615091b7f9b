"""Networks that users bring as ONNX files: what they give, what is asked, what is refused."""

import hashlib
import sys
from contextlib import suppress

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save

from visualwords.features import ONNXFeatures
from visualwords.features import onnx as onnx_module
from visualwords.features.onnx import NetworkError, read_network

FLOAT = TensorProto.FLOAT
SIZE = 8


def model_of(nodes, outputs, *, taken=("n", 3, SIZE, SIZE), kind=FLOAT, weights=(), metadata=()):
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("pixels", kind, taken)],
        [helper.make_tensor_value_info(name, FLOAT, shape) for name, shape in outputs.items()],
        [numpy_helper.from_array(value, name) for name, value in dict(weights).items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    helper.set_model_props(model, dict(metadata))
    return model


def means(**options):
    """Mean of each channel as the embedding, and the scaled pixels as maps."""
    nodes = [
        helper.make_node("GlobalAveragePool", ["pixels"], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["embedding"]),
        helper.make_node("Identity", ["pixels"], ["maps"]),
    ]
    return model_of(nodes, {"embedding": ("n", 3), "maps": ("n", 3, SIZE, SIZE)}, **options)


@pytest.fixture(autouse=True)
def no_trial(request, monkeypatch):
    """Leave out the first run in another process, which takes a second, where it is not tested."""
    if "with_trial" not in request.fixturenames:
        monkeypatch.setattr(onnx_module, "check_runs", lambda *settings: None)


@pytest.fixture
def with_trial():
    """Run networks in another process first."""


@pytest.fixture
def network(tmp_path):
    """Give ``network(model)`` → the path of its file."""

    def write(model, name="net.onnx", **options):
        path = str(tmp_path / name)
        save(model, path, **options)
        return path

    return write


@pytest.fixture
def image(rng):
    return rng.integers(0, 256, (SIZE, SIZE, 3), dtype=np.uint8)


@pytest.mark.usefixtures("with_trial")
def test_a_vector_is_the_output_for_the_scaled_pixels(network, image):
    mean, std = [0.5, 0.4, 0.3], [0.2, 0.3, 0.4]
    extractor = ONNXFeatures(network(means()), mean=mean, std=std)
    expected = ((image / 255 - mean) / std).mean(axis=(0, 1))
    assert not extractor.is_local
    np.testing.assert_allclose(extractor.describe(image), expected, rtol=1e-5)


def test_maps_are_local_features_with_positions(network, image):
    local = ONNXFeatures(network(means()), "maps", mean=0, std=1).extract(image)
    np.testing.assert_allclose(local.descriptors, image.reshape(-1, 3) / 255, rtol=1e-6)
    half = 0.5 / SIZE
    np.testing.assert_allclose(
        local.positions[[0, 1, -1]], [[half] * 2, [3 * half, half], [1 - half] * 2]
    )
    np.testing.assert_allclose(local.sizes, 1)


@pytest.mark.parametrize("extra", [0, 1, 5])
def test_tokens_are_local_features_without_the_class_token(extra, network, image):
    """A class token, and registers, come before those of places."""
    tokens = np.arange((16 + extra) * 2, dtype=np.float32).reshape(1, -1, 2)
    nodes = [
        helper.make_node("ReduceMax", ["pixels"], ["one"], axes=[1, 2, 3], keepdims=0),
        helper.make_node("Mul", ["one", "nothing"], ["zero"]),
        helper.make_node("Add", ["zero", "given"], ["tokens"]),
    ]
    weights = {"nothing": np.zeros(1, np.float32), "given": tokens}
    model = model_of(
        nodes, {"tokens": (1, 16 + extra, 2)}, taken=(1, 3, SIZE, SIZE), weights=weights
    )
    local = ONNXFeatures(network(model), mean=0, std=1).extract(image)
    np.testing.assert_array_equal(local.descriptors, tokens[0, extra:])
    quarters = (np.arange(4) + 0.5) / 4
    np.testing.assert_allclose(local.positions[:4], [[x, quarters[0]] for x in quarters])


@pytest.mark.parametrize("kind", ["channels last", "bytes"])
def test_channels_may_be_last_and_bytes_need_no_scaling(kind, network, image):
    if kind == "bytes":
        nodes = [
            helper.make_node("Cast", ["pixels"], ["floats"], to=FLOAT),
            helper.make_node("ReduceMean", ["floats"], ["out"], axes=[2, 3], keepdims=0),
        ]
        model, scaling = model_of(nodes, {"out": ("n", 3)}, kind=TensorProto.UINT8), {}
    else:
        nodes = [helper.make_node("ReduceMean", ["pixels"], ["out"], axes=[1, 2], keepdims=0)]
        model = model_of(nodes, {"out": ("n", 3)}, taken=("n", SIZE, SIZE, 3))
        scaling = {"mean": 0, "std": 1 / 255}
    found = ONNXFeatures(network(model), **scaling).describe(image)
    np.testing.assert_allclose(found, image.mean(axis=(0, 1)), rtol=1e-5)


def test_scaling_is_read_from_the_metadata_or_the_file_beside(network, image, tmp_path):
    given = ONNXFeatures(network(means()), mean=[0.1, 0.2, 0.3], std=0.5).describe(image)
    told = means(metadata={"mean": "[0.1, 0.2, 0.3]", "std": "0.5"})
    np.testing.assert_array_equal(ONNXFeatures(network(told, "told.onnx")).describe(image), given)
    beside = network(means(), "beside.onnx")
    (tmp_path / "beside.toml").write_text("mean = [0.1, 0.2, 0.3]\nstd = 0.5\n")
    np.testing.assert_array_equal(ONNXFeatures(beside).describe(image), given)


@pytest.mark.parametrize("batch", ["n", 4])
def test_a_batch_gives_what_single_images_give(batch, network, rng):
    images = [rng.integers(0, 256, (9 + i, 7, 3), dtype=np.uint8) for i in range(18)]
    path = network(means(taken=(batch, 3, SIZE, SIZE)))
    extractor = ONNXFeatures(path, mean=0, std=1)
    rows = extractor.transform(images)
    np.testing.assert_allclose(rows, [extractor.describe(image) for image in images], rtol=1e-6)
    local = ONNXFeatures(path, "maps", mean=0, std=1).transform(images)
    assert (len(local), len(local.descriptors)) == (18, 18 * SIZE * SIZE)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({}, "its normalisation of pixels is not known; give mean and std"),
        ({"mean": 0, "std": 0}, "std positive"),
        ({"mean": [0, 0], "std": 1}, "one number or three"),
        ({"mean": "red", "std": 1}, "one number or three"),
        (
            {"output": "logits", "mean": 0, "std": 1},
            "no output 'logits'; there are embedding, maps",
        ),
        ({"size": 16, "mean": 0, "std": 1}, "takes images of 8 pixels a side, not 16"),
        ({"layout": "HWC", "mean": 0, "std": 1}, "choose NCHW or NHWC"),
        ({"sha256": "0" * 64, "mean": 0, "std": 1}, "not the network that is asked for"),
    ],
)
def test_what_is_not_known_or_wrong_is_said_in_a_sentence(settings, reason, network):
    with pytest.raises(NetworkError, match=reason):
        ONNXFeatures(network(means()), **settings).check_parameters()


def test_a_network_of_any_size_asks_for_one(network, image):
    path = network(means(taken=("n", 3, "h", "w")))
    with pytest.raises(NetworkError, match="takes images of any size; give size"):
        ONNXFeatures(path, mean=0, std=1).describe(image)
    assert ONNXFeatures(path, size=4, mean=0, std=1).describe(image).shape == (3,)


def test_what_is_no_network_is_refused_and_damage_raises_nothing_else(network, rng):
    path = network(means())
    with open(path, "rb") as file:
        whole = file.read()
    assert read_network(path)[2] == hashlib.sha256(whole).hexdigest()
    contents = [b"", b"not a network", rng.bytes(500), b"\x3a\xff\xff\xff\x7f"]
    for _ in range(200):
        damaged = bytearray(whole)
        damaged[rng.integers(len(damaged))] ^= 1 << rng.integers(8)
        contents.append(bytes(damaged[: rng.integers(1, len(damaged) + 1)]))
    for number, content in enumerate(contents):
        with open(path, "wb") as file:
            file.write(content)
        refused = pytest.raises(NetworkError, match=r"net\.onnx: ")
        with refused if number < 4 else suppress(NetworkError):
            read_network(path)


def test_data_outside_the_networks_folder_is_refused(network, tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(b"x" * 100_000)
    weights = {"w": np.zeros((300, 3), np.float32)}
    nodes = [
        helper.make_node("GlobalAveragePool", ["pixels"], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["flat"]),
        helper.make_node("Gemm", ["flat", "w"], ["out"], transB=1),
    ]
    model = model_of(nodes, {"out": ("n", 300)}, weights=weights)
    (tmp_path / "nets").mkdir()
    path = network(model, "nets/net.onnx", save_as_external_data=True, location="net.data")
    assert ONNXFeatures(path, mean=0, std=1).describe(np.zeros((8, 8, 3), np.uint8)).shape == (300,)
    for place in ("../secret", str(secret), "nets/../../secret"):
        model.graph.initializer[0].external_data[0].value = place
        with open(tmp_path / "nets" / "evil.onnx", "wb") as file:
            file.write(model.SerializeToString())
        with pytest.raises(NetworkError, match="only files in the network's own folder"):
            read_network(str(tmp_path / "nets" / "evil.onnx"))
    inside = helper.make_node("Constant", [], ["c"], value=model.graph.initializer[0])
    with pytest.raises(NetworkError, match="only files in the network's own folder"):
        read_network(network(model_of([inside], {}), "constant.onnx"))


def test_loops_are_refused_also_inside_other_graphs(network):
    body = helper.make_graph(
        [helper.make_node("Identity", ["go_in"], ["go"])],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("go_in", TensorProto.BOOL, []),
        ],
        [helper.make_tensor_value_info("go", TensorProto.BOOL, [])],
    )
    loop = helper.make_node("Loop", ["", "yes"], [], body=body)
    inner = helper.make_graph([loop], "inner", [], [])
    for node in (loop, helper.make_node("If", ["yes"], [], then_branch=inner, else_branch=inner)):
        model = model_of([node], {}, weights={"yes": np.array(True)})
        with pytest.raises(NetworkError, match="a Loop operator"):
            read_network(network(model))


@pytest.mark.usefixtures("with_trial")
def test_a_network_that_takes_too_much_is_refused_before_it_runs_here(network, monkeypatch):
    nodes = [
        helper.make_node("ConstantOfShape", ["shape"], ["huge"]),
        helper.make_node("ReduceSum", ["huge"], ["sum"], keepdims=0),
        helper.make_node("ReduceMean", ["pixels"], ["m"], axes=[2, 3], keepdims=0),
        helper.make_node("Add", ["m", "sum"], ["out"]),
    ]
    shape = {"shape": np.array([40_000, 50_000], np.int64)}
    path = network(model_of(nodes, {"out": ("n", 3)}, weights=shape))
    with pytest.raises(NetworkError, match=r"net\.onnx"):
        ONNXFeatures(path, mean=0, std=1).check_parameters()
    monkeypatch.setattr(onnx_module, "SECONDS", 0.01)
    with pytest.raises(NetworkError, match="needs more than"):
        ONNXFeatures(network(means(), "slow.onnx"), mean=0, std=1).check_parameters()


def test_nothing_is_opened_here_before_the_trial(network, monkeypatch):
    def refuse(*settings):
        raise NetworkError("takes too much")

    monkeypatch.setattr(onnx_module, "check_runs", refuse)
    monkeypatch.setattr(onnx_module, "open_network", None)
    with pytest.raises(NetworkError, match="takes too much"):
        ONNXFeatures(network(means()), mean=0, std=1).check_parameters()


@pytest.mark.parametrize("missing", ["onnx", "onnxruntime"])
def test_without_the_extra_one_sentence_has_the_command(missing, network, monkeypatch):
    path = network(means(), f"without_{missing}.onnx")
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(NetworkError, match="pip install onnx onnxruntime"):
        ONNXFeatures(path).check_parameters()


def test_the_real_network_gives_its_embedding_as_the_mean_of_its_patches(data_folder, image):
    path = data_folder("networks") / "mobilenet_v2_features.onnx"
    whole = ONNXFeatures(path, mean=0.5, std=0.5).describe(image)
    places = ONNXFeatures(path, "patches", mean=0.5, std=0.5).extract(image)
    assert places.descriptors.shape == (49, 1280)
    np.testing.assert_allclose(places.descriptors.mean(axis=0), whole, atol=1e-5)
