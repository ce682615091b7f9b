"""Frames of files, cameras and streams; streams are served on loopback."""

import contextlib
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import cv2
import numpy as np
import pytest

from tests.vision.rtsp_server import rtsp_server
from visualwords.frames import LiveFrames, VideoError, frames_of

SIZE = (96, 64)  # width, height


def picture(number):
    return np.full((SIZE[1], SIZE[0], 3), (number * 8) % 256, np.uint8)


@pytest.fixture
def video(tmp_path):
    path = tmp_path / "v.avi"
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), 20, SIZE)
    for number in range(12):
        writer.write(picture(number))
    writer.release()
    return str(path)


@contextlib.contextmanager
def mjpeg_server(n_frames, fps=40.0, then_stall=False):
    """Serve streams of n frames over HTTP, as cameras do; each connection starts anew."""
    stop = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.server.n_connections += 1
            self.send_response(200)
            self.send_header("content-type", "multipart/x-mixed-replace; boundary=frame")
            self.end_headers()
            with contextlib.suppress(OSError):
                for number in range(n_frames):
                    jpeg = cv2.imencode(".jpg", picture(number))[1].tobytes()
                    head = f"--frame\r\nContent-Type: image/jpeg\r\nContent-Length: {len(jpeg)}"
                    self.wfile.write(head.encode() + b"\r\n\r\n" + jpeg + b"\r\n")
                    time.sleep(1 / fps)
                if then_stall:
                    stop.wait(30)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.n_connections = 0
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server, f"http://127.0.0.1:{server.server_address[1]}/video"
    finally:
        stop.set()
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_file_gives_all_frames_in_order_with_their_times(video):
    found = list(frames_of(video))
    assert [frame.number for frame in found] == list(range(12))
    np.testing.assert_allclose([frame.seconds for frame in found], np.arange(12) / 20)
    assert found[3].image.shape == (SIZE[1], SIZE[0], 3)


def test_every_and_most_take_some_of_them(video):
    frames = frames_of(video, every=3, most=2)
    assert [frame.number for frame in frames] == [0, 3]
    assert frames.fault() is None


def test_a_file_with_a_highest_rate_drops_frames_and_is_no_slower_than_itself(video):
    frames = frames_of(video, max_fps=5)
    assert isinstance(frames, LiveFrames)
    found = list(frames)
    assert 2 <= len(found) <= 5
    assert frames.n_read == 12
    assert frames.n_dropped == 12 - len(found)
    assert frames.fault() is None


def test_a_slow_consumer_gets_the_newest_frames_of_a_stream():
    with mjpeg_server(60, fps=60) as (_, address):
        frames = LiveFrames(address, most=4, timeout=20)
        found = []
        for frame in frames:
            found.append(frame)
            time.sleep(0.15)
    numbers = [frame.number for frame in found]
    assert numbers == sorted(set(numbers))
    assert frames.n_dropped > 0
    assert max(np.diff(numbers)) > 1


def test_a_stream_that_ends_is_said():
    with mjpeg_server(5) as (_, address):
        frames = frames_of(address, timeout=20)
        assert [frame.image.shape for frame in frames] != []
    assert "ended after" in frames.fault()


def test_a_stream_that_stalls_is_said_within_its_timeout():
    with mjpeg_server(5, then_stall=True) as (_, address):
        frames = frames_of(address, timeout=1.0)
        start = time.monotonic()
        assert list(frames)
        assert time.monotonic() - start < 10
    assert "stalled" in frames.fault() or "ended after" in frames.fault()


def test_an_rtsp_stream_gives_its_frames_in_order_and_its_end():
    with rtsp_server([picture(number) for number in range(30)]) as address:
        frames = LiveFrames(address, timeout=5.0)
        shown = [(frame.number, round(float(frame.image.mean()))) for frame in frames]
        assert shown
        assert [number for number, _ in shown] == sorted(number for number, _ in shown)
        assert all(abs(grey - number * 8) <= 2 for number, grey in shown)
        assert frames.fault() == "ended after 30 frames"


def test_an_rtsp_stream_that_stalls_is_said():
    with rtsp_server([picture(number) for number in range(30)], then_stall=True) as address:
        frames = LiveFrames(address, timeout=1.0)
        assert list(frames)
        # OpenCV's own limit ends the reading at about the same time.
        assert frames.fault() in ("stalled: no frame for 1 s", "ended after 30 frames")


def test_a_stream_is_opened_again_as_often_as_is_allowed():
    with mjpeg_server(3) as (server, address):
        frames = frames_of(address, timeout=20, reconnects=1, most=8)
        assert len(list(frames)) >= 3
        assert server.n_connections >= 2


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("97", "camera 97: not found"),
        ("http://127.0.0.1:9/none", "no stream there"),
        ("text.mp4", "not a readable video"),
    ],
)
def test_what_can_not_be_opened_gets_a_sentence(tmp_path, monkeypatch, source, sentence):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.mp4").write_text("no video")
    with pytest.raises(VideoError, match=sentence):
        frames_of(source, timeout=2)
