"""A small file can't make a decoder run for ever: it is refused, or its process is ended."""

import io
import signal
import struct
import threading
import zlib

import numpy as np
import pytest
from PIL import Image, features

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


@pytest.fixture
def fresh_decoders():
    isolation.close()
    yield
    isolation.close()


@pytest.mark.parametrize("progressive", [True, False])
def test_a_jpeg_that_repeats_a_scan_is_refused_before_decoding(progressive):
    data = encoded("JPEG", progressive=progressive)
    last, end = data.rfind(b"\xff\xda"), data.rfind(b"\xff\xd9")
    with pytest.raises(DamagedImageError, match="scans"):
        read_image(data[:last] + data[last:end] * 3000 + data[end:])


def test_scans_are_counted_by_markers_not_by_bytes_of_descriptions():
    data = encoded("JPEG")
    comment = b"\xff\xda" * 1000
    commented = data[:2] + b"\xff\xfe" + struct.pack(">H", 2 + len(comment)) + comment + data[2:]
    assert np.array_equal(read_image(commented), read_image(data))


def test_large_images_may_have_fewer_scans():
    data = encoded("JPEG", progressive=True)
    last, end = data.rfind(b"\xff\xda"), data.rfind(b"\xff\xd9")
    scans = data[:last] + data[last:end] * 50 + data[end:]
    assert read_image(scans).shape == NOISE.shape
    size = scans.index(b"\xff\xc2") + 5
    large = scans[:size] + struct.pack(">HH", 10_000, 10_000) + scans[size + 4 :]
    with pytest.raises(DamagedImageError, match="at most 24"):
        read_image(large)


def test_a_png_of_very_many_chunks_is_refused():
    data = encoded("PNG")
    place = data.index(b"IDAT") - 4
    empty = struct.pack(">I", 0) + b"abCd" + struct.pack(">I", zlib.crc32(b"abCd"))
    with pytest.raises(DamagedImageError, match="chunks"):
        read_image(data[:place] + empty * 100_001 + data[place:])


def test_a_tiff_of_very_many_strips_is_refused():
    n_rows = 100_001
    tags = [(256, 1), (257, n_rows), (258, 8), (259, 1), (262, 1), (277, 1), (278, 1)]
    places = 8 + 2 + 12 * (len(tags) + 2) + 4
    entries = [struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags]
    entries += [struct.pack("<HHII", 273, 4, n_rows, places)]
    entries += [struct.pack("<HHII", 279, 4, n_rows, places + 4 * n_rows)]
    head = b"II*\0" + struct.pack("<IH", 8, len(entries)) + b"".join(sorted(entries)) + bytes(4)
    first = places + 8 * n_rows
    offsets = np.arange(first, first + n_rows, dtype="<u4").tobytes()
    with pytest.raises(DamagedImageError, match="strips"):
        read_image(head + offsets + np.ones(n_rows, "<u4").tobytes() + bytes(n_rows))


SLOW = {
    "JPEG 2000": lambda: encoded("JPEG2000"),
    "PPM of odd range": lambda: b"P6 60 40 254\n" + (NOISE // 2).tobytes(),
    "plain PPM": lambda: b"P3 60 40 255\n" + b" ".join(b"%d" % v for v in NOISE.ravel()),
    "fax": lambda: _fax(),
    "a file much larger than its pixels": lambda: encoded("PNG") + bytes(5 << 20),
}


def _fax():
    buffer = io.BytesIO()
    Image.fromarray(NOISE[:, :, 0] > 99).save(buffer, "TIFF", compression="group4")
    return buffer.getvalue()


@pytest.mark.parametrize("kind", SLOW)
def test_a_file_whose_cost_is_hidden_is_decoded_elsewhere_to_the_same_pixels(kind, monkeypatch):
    if kind == "fax" and features.version("libtiff") < "4.7.2":
        pytest.skip("needs a newer libtiff")
    asked = []
    decode = isolation._Decoder.decode

    def noticed(self, *request):
        asked.append(request)
        return decode(self, *request)

    monkeypatch.setattr(isolation._Decoder, "decode", noticed)
    data = SLOW[kind]()
    for mode, max_side in [("rgb", None), ("grey", 20)]:
        found = read_image(data, mode, max_side=max_side)
        assert np.array_equal(found, decode_file(data, mode, 10_000, max_side, may_isolate=False))
        assert found.flags.writeable
        assert found.flags.c_contiguous
    assert len(asked) == 2


def test_common_formats_are_decoded_here_unless_all_are_isolated(monkeypatch):
    files = [encoded(form) for form in ("JPEG", "PNG", "GIF", "WEBP", "TIFF", "BMP")]
    with isolated_decoding():
        isolated = [read_image(data, max_side=30) for data in files]
        for data in files:
            with pytest.raises(ImageTooLargeError, match="raise max_pixels"):
                read_image(data, max_pixels=10)
            with pytest.raises(DamagedImageError, match="damaged"):
                read_image(data[:-40])
    monkeypatch.setattr(isolation, "_Decoder", None)  # to ask for a process would fail
    for data, pixels in zip(files, isolated):
        assert np.array_equal(read_image(data, max_side=30), pixels)


def test_a_decoder_that_runs_too_long_costs_its_image_only(monkeypatch, fresh_decoders):
    read_image(SLOW["plain PPM"]())  # start one
    monkeypatch.setattr(isolation, "SECONDS", 0.1)
    monkeypatch.setattr(isolation, "SECONDS_PER_PIXEL", 0)
    with pytest.raises(DamagedImageError, match="took longer"):
        read_image(b"P6 2000 2000 254\n" + bytes(12_000_000))
    monkeypatch.undo()
    assert read_image(SLOW["plain PPM"]()).shape == (40, 60, 3)


@pytest.mark.posix
def test_a_decoder_that_crashes_costs_its_image_only(fresh_decoders):
    read_image(SLOW["plain PPM"]())
    process = isolation._idle[0].process
    process.send_signal(signal.SIGSTOP)  # so that it has the file when it ends
    crash = threading.Timer(0.3, lambda: [process.send_signal(s) for s in CRASH])
    crash.start()
    with pytest.raises(CrashedDecoderError, match="crashed"):
        read_image(SLOW["plain PPM"]())
    crash.join()
    assert read_image(SLOW["plain PPM"]()).shape == (40, 60, 3)


def test_a_decoder_that_ended_while_it_was_idle_costs_nothing(fresh_decoders):
    read_image(SLOW["plain PPM"]())
    process = isolation._idle[0].process
    process.kill()
    process.wait()
    assert read_image(SLOW["plain PPM"]()).shape == (40, 60, 3)


@pytest.mark.posix
def test_a_decoder_that_takes_too_much_memory_costs_its_image_only(monkeypatch, fresh_decoders):
    monkeypatch.setattr(isolation, "MEMORY", 1 << 20)
    monkeypatch.setattr(isolation, "MEMORY_PER_PIXEL", 0)
    with pytest.raises((DamagedImageError, ImageTooLargeError)):
        read_image(b"P3 1500 1500 255\n" + b"0 " * 6_750_000)
    monkeypatch.undo()
    assert read_image(SLOW["plain PPM"]()).shape == (40, 60, 3)


def test_where_no_process_can_be_started_images_are_decoded_here(monkeypatch, fresh_decoders):
    monkeypatch.setattr("sys.executable", "")
    assert read_image(SLOW["plain PPM"]()).shape == (40, 60, 3)


def test_a_large_image_leaves_the_waiting_process_to_small_ones(fresh_decoders, monkeypatch):
    data = encoded("PNG")
    with isolated_decoding():
        small = read_image(data)
        waiting = list(isolation._idle)
        monkeypatch.setattr(isolation, "LARGE", NOISE.shape[0] * NOISE.shape[1] - 1)
        assert np.array_equal(read_image(data), small)
        assert isolation._idle == waiting
        assert waiting[0].process.poll() is None
