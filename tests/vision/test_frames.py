"""Frames of files, cameras and streams; streams are served on loopback."""

import contextlib
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import cv2
import numpy as np
import pytest

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
def mjpeg_server(n_frames, fps=60.0, then_stall=False):
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


def test_a_file_gives_its_frames_in_order_with_their_times_or_some_of_them(video):
    found = list(frames_of(video))
    assert [frame.number for frame in found] == list(range(12))
    np.testing.assert_allclose([frame.seconds for frame in found], np.arange(12) / 20)
    assert all(abs(frame.image.astype(int) - picture(frame.number)).max() <= 2 for frame in found)
    frames = frames_of(video, every=3, most=2)
    assert [frame.number for frame in frames] == [0, 3]
    assert frames.fault() is None
    frames = frames_of(video)
    assert (frames.n_promised, len(list(frames)), frames.fault()) == (12, 12, None)
    frames.n_promised = 20
    assert frames.fault() == "ended early, after 12 of 20 frames"


def test_a_file_with_a_highest_rate_drops_frames_and_is_no_slower_than_itself(video):
    frames = frames_of(video, max_fps=5)
    found = list(frames)
    assert 2 <= len(found) <= 5
    assert (frames.n_read, frames.n_dropped) == (12, 12 - len(found))
    assert frames.fault() is None


def test_a_slow_consumer_gets_the_newest_frames_of_a_stream():
    with mjpeg_server(60) as (_, address):
        frames = LiveFrames(address, most=4, timeout=20)
        numbers = [(frame.number, time.sleep(0.15))[0] for frame in frames]
    assert numbers == sorted(set(numbers))
    assert frames.n_dropped > 0
    assert max(np.diff(numbers)) > 1


@pytest.mark.parametrize("then_stall", [False, True])
def test_a_stream_that_ends_or_stalls_is_said_within_its_timeout(then_stall):
    with mjpeg_server(5, then_stall=then_stall) as (_, address):
        frames = frames_of(address, timeout=1.0)
        start = time.monotonic()
        assert list(frames)
        assert time.monotonic() - start < 10
    # OpenCV's own limit ends the reading of a stalled stream at about the same time.
    faults = ("stalled: no frame for 1 s", f"ended after {frames.n_read} frames")
    assert frames.fault() in faults[0 if then_stall else 1 :]


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
