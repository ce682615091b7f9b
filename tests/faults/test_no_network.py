"""Training and predicting ask nothing of the network: not for an address, not for a socket."""

import socket
import sys

from tests.faults.commands import exit_code_of

NEW = "socket.__new__"


def forbid_sockets():
    """From now on, and for good, sockets end in an error; but for pairs inside the process."""

    def watch(event, arguments):
        within = event == NEW and arguments[1] == socket.AF_UNIX
        if event.startswith(("socket.", "urllib.", "http.client.")) and not within:
            raise PermissionError(f"the network was asked: {event}")

    sys.addaudithook(watch)


def open_a_socket():
    forbid_sockets()
    socket.create_connection(("127.0.0.1", 9))


def use_everything(photos, folder):
    from visualwords.apps.classify_images import main as classify_images
    from visualwords.apps.detect_pedestrians import main as detect_pedestrians

    forbid_sockets()
    for recipe in ("auto", "tiny"):
        train = ["train", photos, "-o", folder / "m.vw", "--recipe", recipe, "--jobs", "2"]
        assert classify_images.main([*map(str, train), "--no-cache", "--budget", "0.01"]) == 0
    for verb in (["predict", folder / "m.vw", photos], ["evaluate", folder / "m.vw", photos]):
        assert classify_images.main([*map(str, verb), "--no-cache"]) == 0
    assert classify_images.main(["info", str(folder / "m.vw")]) == 0
    image, found = str(photos / "sea" / "0.png"), str(folder / "found")
    assert detect_pedestrians.main(["run", image, "-o", found, "--quiet"]) == 0


def test_no_command_asks_the_network(photos, tmp_path):
    assert exit_code_of(use_everything, photos, tmp_path) == 0
    assert list((tmp_path / "found").iterdir())
    assert exit_code_of(open_a_socket) == 1
