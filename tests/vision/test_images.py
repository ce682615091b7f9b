"""Reading images: names, kinds of files, sizes, both JPEG decoders, many threads."""

import os
import socket
import stat
import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

import visualwords.decoding as decoding
from visualwords.errors import UnreadableImageError
from visualwords.images import read_bytes, read_image, shrink

ODD_NAMES = [
    *["new\nline.png", "🦊 fox.png", "-rf.png", "--help", b"latin \xe9\xff.png", "UPPER.PNG"],
    *["wrong.jpg", "no extension", "quote'\"%s{}.png", "x" * 250 + ".png"],
    *["e\u0301.png", "\u00e9.png"],  # decomposed and composed é
]


def test_any_name_bytes_and_links_are_read_like_a_file(tmp_path, photo, encode):
    data = encode(photo, "PNG")
    paths = [os.path.join(os.fsencode(tmp_path), os.fsencode(name)) for name in ODD_NAMES]
    for path in map(os.fsdecode, paths):
        with open(path, "wb") as file:
            file.write(data)
        np.testing.assert_array_equal(read_image(path), photo)
    (tmp_path / "link.png").symlink_to("--help")
    for source in data, bytearray(data), memoryview(data), tmp_path / "link.png":
        np.testing.assert_array_equal(read_image(source), photo)


def unix_socket(path):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        pytest.param(lambda path: os.mkfifo(path), "not a regular file", marks=pytest.mark.posix),
        (unix_socket, "not a regular file"),
        (os.mkdir, "a folder, not a file"),
        (lambda path: path.symlink_to(path), "too many levels of symbolic links"),
        (lambda path: path.symlink_to("nowhere"), "no such file or directory"),
        (lambda path: None, "no such file or directory"),
    ],
    ids=["fifo", "socket", "folder", "loop", "dangling link", "missing"],
)
def test_what_is_no_regular_file_is_refused_without_waiting(make, reason, tmp_path):
    path = tmp_path / "x.jpg"
    make(path)
    before = set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else set()
    with pytest.raises(UnreadableImageError, match=f"^{reason}$"):
        read_image(path)
    if before:  # no descriptor is left open
        assert len(os.listdir("/proc/self/fd")) == len(before)


@pytest.mark.posix
def test_devices_odd_names_and_files_without_permission_are_refused(tmp_path):
    with pytest.raises(UnreadableImageError, match="not a regular file"):
        read_image(os.devnull)
    with pytest.raises(UnreadableImageError):
        read_image("a\0b.jpg")
    path = tmp_path / "secret.png"
    path.write_bytes(b"")
    path.chmod(0)
    user = os.geteuid()
    if user == 0:  # root may read everything: be nobody for a while
        os.seteuid(65534)
    try:
        with pytest.raises(UnreadableImageError, match="permission denied"):
            read_image(path)
    finally:
        os.seteuid(user)


def test_a_file_that_is_too_large_is_not_read_and_a_small_one_takes_little_memory(tmp_path):
    with open(tmp_path / "disk.jpg", "wb") as file:
        file.truncate(1 << 40)  # a hole: takes no room on disk
    with pytest.raises(UnreadableImageError, match="at most"):
        read_bytes(tmp_path / "disk.jpg")
    (tmp_path / "small.png").write_bytes(b"bytes")
    tracemalloc.start()
    assert read_bytes(tmp_path / "small.png") == b"bytes"
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_a_file_that_grows_while_it_is_read_is_read_to_its_end(tmp_path, monkeypatch):
    (tmp_path / "log.png").write_bytes(bytes(10_000))
    monkeypatch.setattr(os, "fstat", lambda _: os.stat_result((stat.S_IFREG, *[0] * 9)))
    assert read_bytes(tmp_path / "log.png") == bytes(10_000)


def test_a_wrong_mode_or_size_is_the_callers_mistake(photo, encode):
    data = encode(photo, "PNG")
    with pytest.raises(ValueError, match="mode is 'gray'"):
        read_image(data, mode="gray")
    with pytest.raises(ValueError, match="max_side is 0"):
        read_image(data, max_side=0)


@given(
    size_wh=st.tuples(st.integers(1, 130), st.integers(1, 130)),
    max_side=st.one_of(st.none(), st.integers(1, 140)),
    mode=st.sampled_from(["rgb", "grey"]),
    colours=st.sampled_from(["L", "RGB"]),
    options=st.sampled_from([{"keep_rgb": True}, {"restart_marker_blocks": 3}, {"quality": 1}]),
    subsampling=st.sampled_from([0, 1, 2]),
    progressive=st.booleans(),
)
@settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_both_jpeg_decoders_give_the_same_pixels(
    size_wh, max_side, mode, colours, options, subsampling, progressive, photo, encode, monkeypatch
):
    """Of damaged files, `tests.faults.fuzz_images` compares what they make."""
    pytest.importorskip("simplejpeg")
    image = Image.fromarray(photo).resize(size_wh).convert(colours)
    if "keep_rgb" not in options:
        options = options | {"subsampling": subsampling}
    data = encode(image, "JPEG", progressive=progressive, **options)
    fast = read_image(data, mode=mode, max_side=max_side)
    with monkeypatch.context() as patch:
        patch.setattr(decoding, "simplejpeg", None)
        plain = read_image(data, mode=mode, max_side=max_side)
    np.testing.assert_array_equal(fast, plain)
    longer = max(size_wh) if max_side is None else min(max_side, max(size_wh))
    assert max(fast.shape[:2]) == longer


@pytest.mark.parametrize("form", ["JPEG", "PNG", "GIF", "WEBP", "TIFF", "CMYK"])
def test_the_longer_side_is_at_most_max_side(form, photo, encode):
    image = Image.fromarray(photo)
    data = encode(image.convert("CMYK"), "JPEG") if form == "CMYK" else encode(image, form)
    for max_side in 1, 7, 40, 101, 500:
        read = read_image(data, max_side=max_side)
        assert read.shape[1:] == (min(max_side, 101), 3)
        assert abs(read.shape[0] - max(1, 77 * min(1, max_side / 101))) <= 1


@pytest.mark.usefixtures("either_decoder")
def test_a_reduced_jpeg_looks_like_the_shrunk_whole(photo, encode):
    large = np.asarray(Image.fromarray(photo).resize((1008, 768), Image.Resampling.BICUBIC))
    data = encode(large, "JPEG", quality=95)
    reduced = read_image(data, max_side=100)
    shrunk = shrink(read_image(data), 100)
    assert reduced.shape == shrunk.shape
    assert np.abs(reduced.astype(int) - shrunk).mean() < 1.5


def test_shrinking_keeps_the_mean_and_the_shape_of_slivers():
    image = np.full((1, 5000), 77, np.uint8)
    np.testing.assert_array_equal(shrink(image, 50), np.full((1, 50), 77))
    assert shrink(image, None) is image
    assert shrink(image, 5000) is image


def test_slivers_are_read(encode):
    for form in "JPEG", "PNG", "GIF", "WEBP", "TIFF", "BMP", "PPM":
        for size_wh in (1, 1), (1, 5000), (5000, 1), (7, 1):
            image = read_image(encode(Image.new("RGB", size_wh, (10, 200, 30)), form))
            assert image.shape == (*size_wh[::-1], 3)
            assert np.abs(image.astype(int) - (10, 200, 30)).max() <= 6
