"""Training and predicting ask nothing of the network: not for an address, not for a socket."""

import socket
import sys

import pytest

from tests.faults.commands import run, server

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


def test_the_watch_works():
    process = server.Process(target=open_a_socket)
    process.start()
    process.join()
    assert process.exitcode == 1


@pytest.mark.parametrize("recipe", ["auto", "tiny"])
def test_training_needs_no_network(recipe, photos, tmp_path):
    arguments = ["train", photos, "-o", tmp_path / "m.vw", "--recipe", recipe, "--no-cache"]
    done = run(*arguments, "--jobs", "2", log=tmp_path / "log", setup=forbid_sockets)
    assert done.code == 0, done.output


@pytest.mark.parametrize("verb", ["predict", "evaluate"])
def test_using_a_model_needs_no_network(verb, model, photos, tmp_path):
    log = tmp_path / "log"
    done = run(verb, model, photos, "--no-cache", log=log, setup=forbid_sockets)
    assert done.code == 0, done.output
    assert run("info", model, log=log, setup=forbid_sockets).code == 0


def detect(image, folder):
    from visualwords.apps.detect_pedestrians.main import main

    forbid_sockets()
    sys.exit(main(["run", str(image), "-o", str(folder), "--quiet"]))


@pytest.mark.parametrize("work", [detect])
def test_the_other_commands_need_no_network(work, photos, tmp_path):
    process = server.Process(target=work, args=(photos / "sea" / "0.png", tmp_path / "out"))
    process.start()
    process.join()
    assert process.exitcode == 0
    assert list((tmp_path / "out").iterdir())
