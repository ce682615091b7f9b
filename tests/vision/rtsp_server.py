"""A small RTSP server (RFC 2326) that sends JPEG frames by RTP (RFC 2435), over its connection."""

import contextlib
import socketserver
import struct
import threading
import time

import cv2

CLOCK = 90_000  # ticks a second of RTP's times for video
PART = 1200  # bytes of a frame in one packet
DESCRIPTION = "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=test\r\nt=0 0\r\nm=video 0 RTP/AVP 26\r\n"
DESCRIPTION += "a=control:track1\r\n"


def jpeg_parts(picture):
    """Return the quantisation tables and the scan of a JPEG with the standard Huffman codes."""
    data = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, 90])[1].tobytes()
    tables, at = b"", 2
    while True:
        marker, length = data[at + 1], int.from_bytes(data[at + 2 : at + 4], "big")
        if marker == 0xDB:
            segment = data[at + 4 : at + 2 + length]
            tables += b"".join(segment[k + 1 : k + 65] for k in range(0, len(segment), 65))
        at += 2 + length
        if marker == 0xDA:
            return tables, data[at:-2]


def rtp_packets(picture, number, fps):
    """Return the packets of one frame; the first has the quantisation tables."""
    tables, scan = jpeg_parts(picture)
    height, width = picture.shape[:2]
    for start in range(0, len(scan), PART):
        part = scan[start : start + PART]
        is_last = start + PART >= len(scan)
        rtp = struct.pack(
            ">BBHII",
            0x80,
            26 | is_last << 7,
            rtp_packets.sequence % 65536,
            number * CLOCK // fps,
            1,
        )
        rtp_packets.sequence += 1
        jpeg = start.to_bytes(4, "big") + bytes([1, 255, width // 8, height // 8])
        if not start:
            jpeg += struct.pack(">BBH", 0, 0, len(tables)) + tables
        yield rtp + jpeg + part


rtp_packets.sequence = 0


class _Connection(socketserver.StreamRequestHandler):
    def handle(self):
        with contextlib.suppress(OSError):
            while request := self.rfile.readline().decode():
                fields = {}
                while (line := self.rfile.readline().decode().strip()) != "":
                    name, _, value = line.partition(":")
                    fields[name.strip().lower()] = value.strip()
                if not self.answer(request.split()[0], fields):
                    return

    def answer(self, method, fields):
        """Answer one request; False where the connection must end."""
        head, body = {"CSeq": fields["cseq"], "Session": "1"}, ""
        status = "200 OK"
        if method == "OPTIONS":
            head["Public"] = "DESCRIBE, SETUP, PLAY, TEARDOWN"
        elif method == "DESCRIBE":
            body, head["Content-Type"] = DESCRIPTION, "application/sdp"
        elif method == "SETUP" and "TCP" not in fields["transport"]:
            status = "461 Unsupported Transport"
        elif method == "SETUP":
            head["Transport"] = "RTP/AVP/TCP;unicast;interleaved=0-1"
        lines = [f"RTSP/1.0 {status}", *(f"{name}: {value}" for name, value in head.items())]
        lines.append(f"Content-Length: {len(body)}")
        self.wfile.write(("\r\n".join(lines) + "\r\n\r\n" + body).encode())
        if method == "PLAY":
            self.server.play(self.wfile)
        return method not in ("PLAY", "TEARDOWN")


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = allow_reuse_address = True

    def play(self, file):
        """Send all frames at their pace, then stall or end."""
        for number, picture in enumerate(self.pictures):
            for packet in rtp_packets(picture, number, self.fps):
                file.write(b"$\0" + len(packet).to_bytes(2, "big") + packet)
            file.flush()
            time.sleep(1 / self.fps)
        if self.then_stall:
            self.stop.wait(30)


@contextlib.contextmanager
def rtsp_server(pictures, fps=20, then_stall=False):
    """Serve pictures, BGR with sides that are multiples of 16, at an address on loopback."""
    server = _Server(("127.0.0.1", 0), _Connection)
    server.pictures, server.fps, server.then_stall = pictures, fps, then_stall
    server.stop = threading.Event()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"rtsp://127.0.0.1:{server.server_address[1]}/camera"
    finally:
        server.stop.set()
        server.shutdown()
        thread.join()
        server.server_close()
