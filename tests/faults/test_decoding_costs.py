"""A small file can't make a decoder run for ever: it is refused, or its process is ended."""

import io
import signal
import struct
import subprocess
import threading
import zlib

import numpy as np
import pytest
import tifffile
from PIL import Image

from tests.faults.fuzz_images import FORMS, sample
from visualwords import isolation
from visualwords.decoding import decode as decode_file
from visualwords.errors import CrashedDecoderError, DamagedImageError, ImageTooLargeError
from visualwords.images import read_image
from visualwords.isolation import isolated_decoding

CRASH = [getattr(signal, name, 0) for name in ("SIGSEGV", "SIGCONT")]
NOISE = np.random.default_rng(0).integers(0, 256, (40, 60, 3), dtype=np.uint8)


def encoded(form, **options):
    buffer = io.BytesIO()
    Image.fromarray(NOISE).save(buffer, form, **options)
    return buffer.getvalue()


def jpeg_of_scans(n, **options):
    """A JPEG whose last scan is there so many times."""
    data = encoded("JPEG", **options)
    last, end = data.rfind(b"\xff\xda"), data.rfind(b"\xff\xd9")
    return data[:last] + data[last:end] * n + data[end:]


PLAIN = b"P3 60 40 255\n" + b" ".join(b"%d" % value for value in NOISE.ravel())
SLOW = {
    "JPEG 2000": encoded("JPEG2000"),
    "PPM of odd range": b"P6 60 40 254\n" + (NOISE // 2).tobytes(),
    "plain PPM": PLAIN,
    "a file much larger than its pixels": encoded("PNG") + bytes(5 << 20),
}
if "fax TIFF" in FORMS:
    SLOW["fax"] = sample("fax TIFF")


@pytest.fixture
def started(monkeypatch):
    """Give the processes that are started to decode; none is there before."""
    isolation.close()
    found, start = [], subprocess.Popen

    def start_noticed(*arguments, **options):
        found.append(start(*arguments, **options))
        return found[-1]

    monkeypatch.setattr(subprocess, "Popen", start_noticed)
    yield found
    isolation.close()


def test_a_jpeg_that_repeats_a_scan_is_refused_and_a_large_one_may_have_fewer():
    for progressive in True, False:
        with pytest.raises(DamagedImageError, match="scans"):
            read_image(jpeg_of_scans(3000, progressive=progressive))
    scans = jpeg_of_scans(50, progressive=True)
    assert read_image(scans).shape == NOISE.shape
    size = scans.index(b"\xff\xc2") + 5
    large = scans[:size] + struct.pack(">HH", 10_000, 10_000) + scans[size + 4 :]
    with pytest.raises(DamagedImageError, match="at most 24"):
        read_image(large)


def test_scans_are_counted_by_markers_not_by_bytes_of_descriptions():
    data = encoded("JPEG")
    comment = b"\xff\xda" * 1000
    commented = data[:2] + b"\xff\xfe" + struct.pack(">H", 2 + len(comment)) + comment + data[2:]
    assert np.array_equal(read_image(commented), read_image(data))


def test_very_many_chunks_or_strips_are_refused():
    data = encoded("PNG")
    place = data.index(b"IDAT") - 4
    empty = struct.pack(">I", 0) + b"abCd" + struct.pack(">I", zlib.crc32(b"abCd"))
    with pytest.raises(DamagedImageError, match="chunks"):
        read_image(data[:place] + empty * 100_001 + data[place:])
    file = io.BytesIO()
    tifffile.imwrite(file, np.zeros((100_001, 1), np.uint8), rowsperstrip=1)
    with pytest.raises(DamagedImageError, match="strips"):
        read_image(file.getvalue())


def test_a_file_whose_cost_is_hidden_is_decoded_elsewhere_to_the_same_pixels(started):
    for name, data in SLOW.items():
        for mode, max_side in [("rgb", None), ("grey", 20)]:
            found = read_image(data, mode, max_side=max_side)
            expected = decode_file(data, mode, 10_000, max_side, may_isolate=False)
            assert np.array_equal(found, expected), name
            assert found.flags.writeable
            assert found.flags.c_contiguous
        assert len(started) == 1, name
        isolation.close()
        started.clear()


def test_common_formats_are_decoded_here_unless_all_are_isolated(started):
    files = [encoded(form) for form in ("JPEG", "PNG", "GIF", "WEBP", "TIFF", "BMP")]
    expected = [read_image(data, max_side=30) for data in files]
    assert started == []
    with isolated_decoding():
        for data, pixels in zip(files, expected):
            assert np.array_equal(read_image(data, max_side=30), pixels)
            with pytest.raises(ImageTooLargeError, match="raise max_pixels"):
                read_image(data, max_pixels=10)
            with pytest.raises(DamagedImageError, match="damaged"):
                read_image(data[:-40])
    assert len(started) == 1


@pytest.mark.posix
def test_a_decoder_that_fails_costs_its_image_only(started, monkeypatch):
    read_image(PLAIN)
    with monkeypatch.context() as patch:
        patch.setattr(isolation, "SECONDS", 0.1)
        patch.setattr(isolation, "SECONDS_PER_PIXEL", 0)
        with pytest.raises(DamagedImageError, match="took longer"):
            read_image(b"P6 2000 2000 254\n" + bytes(12_000_000))
    with monkeypatch.context() as patch:
        patch.setattr(isolation, "MEMORY", 1 << 20)
        patch.setattr(isolation, "MEMORY_PER_PIXEL", 0)
        with pytest.raises((DamagedImageError, ImageTooLargeError)):
            read_image(b"P3 1500 1500 255\n" + b"0 " * 6_750_000)
    read_image(PLAIN)
    started[-1].send_signal(signal.SIGSTOP)  # so that it has the file when it ends
    crash = threading.Timer(0.3, lambda: [started[-1].send_signal(s) for s in CRASH])
    crash.start()
    with pytest.raises(CrashedDecoderError, match="crashed"):
        read_image(PLAIN)
    crash.join()
    read_image(PLAIN)
    started[-1].kill()  # while it is idle
    started[-1].wait()
    assert read_image(PLAIN).shape == (40, 60, 3)


def test_where_no_process_can_be_started_images_are_decoded_here(monkeypatch, started):
    monkeypatch.setattr("sys.executable", "")
    assert read_image(PLAIN).shape == (40, 60, 3)
    assert started == []


def test_a_large_image_leaves_the_waiting_process_to_small_ones(started, monkeypatch):
    data = encoded("PNG")
    with isolated_decoding():
        small = read_image(data)
        monkeypatch.setattr(isolation, "LARGE", NOISE.shape[0] * NOISE.shape[1] - 1)
        assert np.array_equal(read_image(data), small)
        assert [process.poll() is None for process in started] == [True, False]
