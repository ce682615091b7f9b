"""Class folders and what is done with them: undone as a whole, whoever made the folder.

Nothing outside of the folder is touched, and nothing is half done.
"""

import json
import os
import time
import unicodedata
from contextlib import closing, suppress
from itertools import count

import numpy as np
import pytest

from visualwords.apps.page.guards import RefusedError
from visualwords.apps.studio.workspace import Workspace, file_name, list_classes, shown
from visualwords.errors import FolderError
from visualwords.files import move_without_replacing
from visualwords.folders import ImageFolder

CHANGE_LOG = "visualwords.apps.studio.change_log"


@pytest.fixture
def root(tmp_path):
    """Give a folder of two classes, beside one with a file that must stay as it is."""
    places = ("cat/1.jpg", "cat/2.jpg", "cat/deep/3.jpg", "dog/1.jpg", "../outside/key")
    for place in places:
        path = tmp_path / "photos" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(place.encode())
    return tmp_path / "photos"


def opened(root):
    return closing(Workspace(root))


def everything(folder):
    """Place → content of all files, links and folders, but for the studio's own."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if ".studio" not in path.relative_to(folder).parts:
            is_link, place = path.is_symlink(), os.path.relpath(path, folder)
            found[place] = os.readlink(path) if is_link else path.is_file() and path.read_bytes()
    return found


def ids(workspace, *places):
    return [image.id for image in workspace.listed().images if image.place in places]


@pytest.fixture
def failing(monkeypatch):
    """Give ``failing(n)``: from then on the n-th move of a file, counted from 1, fails."""

    def fail_at(number):
        moves = count(1)

        def move(source, target):
            if next(moves) == number:
                raise PermissionError(13, "Permission denied", str(source))
            move_without_replacing(source, target)

        monkeypatch.setattr(f"{CHANGE_LOG}.move_without_replacing", move)

    return fail_at


def some(workspace, rng):
    """The ids of up to three images."""
    found = [image.id for image in workspace.listed().images]
    return rng.choice(found, min(3, len(found)), replace=False).tolist()


def one(workspace, rng):
    return str(rng.choice(list(workspace.listed().folders)))


def drop(workspace, rng, name):
    for k in range(3):  # files that come together
        workspace.add_image(one(workspace, rng), "1.jpg", b"%s %d" % (name, k), name.hex())


ACTIONS = {
    "add class": lambda w, rng, name: w.add_class(name.hex()),
    "rename class": lambda w, rng, name: w.rename_class(one(w, rng), f"Kätzchen {name.hex()}"),
    "delete class": lambda w, rng, _: len(w.listed().folders) < 2 or w.delete_class(one(w, rng)),
    "add images": drop,
    "move images": lambda w, rng, _: w.move_images(some(w, rng), one(w, rng)),
    "delete images": lambda w, rng, _: w.delete_images(some(w, rng)),
}


@pytest.mark.parametrize("seed", range(6))
def test_any_actions_are_undone_and_done_again_one_by_one_also_after_a_restart(root, seed, failing):
    rng = np.random.default_rng(seed)
    states, changes = [everything(root)], [0]
    for action in rng.permutation([*ACTIONS] * 2):
        with opened(root) as workspace:
            ACTIONS[action](workspace, rng, rng.bytes(8))
            if len(workspace.log.done) > changes[-1]:  # there was something to move
                changes.append(len(workspace.log.done))
                states.append(everything(root))
            if images := workspace.listed().images:  # the commands read the same ones
                folder = ImageFolder(root)
                assert folder.labels == [image.label for image in images]
                assert folder.paths == [str(root / image.place) for image in images]
    assert len(states) > 6
    for step, others in (("undo", states[-2::-1]), ("redo", states[1:])):
        for before, after in zip([everything(root), *others], others):
            with opened(root) as workspace:
                for number in (1, 2, 3, 0):  # of the move that fails
                    failing(number)
                    with suppress(PermissionError):
                        assert getattr(workspace.log, step)() is not None
                        break
                    assert everything(root) == before
                assert everything(root) == after
    with opened(root) as workspace:
        assert workspace.log.redo() is None


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_change_that_fails_half_way_is_taken_back(root, failing, number):
    with opened(root) as workspace:
        workspace.add_class("bird")
        before = everything(root)
        failing(number)
        with pytest.raises(PermissionError):
            workspace.move_images(ids(workspace, "cat/1.jpg", "cat/2.jpg", "dog/1.jpg"), "bird")
        assert everything(root) == before
    with opened(root) as workspace:  # the journal knows of nothing else
        assert [change.what for change in workspace.log.done] == ["add class bird"]


@pytest.mark.posix
def test_a_full_disk_changes_nothing(root, monkeypatch, rng):
    def full(file, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(f"{CHANGE_LOG}.append", full)
    before = everything(root)
    with opened(root) as workspace:
        for action in ACTIONS.values():
            with pytest.raises(OSError, match="No space"):
                action(workspace, rng, b"x")
        assert not workspace.log.done
    assert everything(root) == before
    assert list((root / ".studio" / "incoming").iterdir()) == []


def test_images_keep_their_ids_and_files_of_a_taken_name_get_a_number(root):
    with opened(root) as workspace:
        number = ids(workspace, "cat/1.jpg")
        workspace.move_images(number, "dog")
        moved = workspace.image(number[0])
        assert (moved.place, moved.label) == ("dog/1-2.jpg", "dog")
        found = [
            workspace.add_image("dog", "1.jpg", data, "token") for data in (b"dog/1.jpg", b"else")
        ]
        assert [(image.place, new) for image, new in found] == [
            ("dog/1.jpg", False),
            ("dog/1-3.jpg", True),
        ]
        os.link(root / "cat/2.jpg", root / "dog/same.jpg")  # two names of one file are two images
        listed = list_classes(root)
        assert len(listed.by_id) == len(listed.images) == 6


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("", "needs a name"),
        *((name, "can't be that of a folder") for name in ("../up", ".hidden", "a/b", "nul")),
        ("train", "part of a data set"),
        ("x" * 101, "longer than 100"),
    ],
)
def test_names_that_are_no_class_folders_are_refused(root, name, sentence):
    with opened(root) as workspace:
        for ask in (workspace.add_class, lambda name: workspace.rename_class("cat", name)):
            with pytest.raises(RefusedError, match=sentence):
                ask(name)
        assert workspace.add_class(" CAT ") == "cat"  # that is there
        with pytest.raises(RefusedError, match="there is a class"):
            workspace.rename_class("cat", "Dog")
        assert not workspace.log.done


def test_a_second_studio_and_folders_of_other_layouts_are_refused_with_what_to_do(root, tmp_path):
    with opened(root), pytest.raises(FolderError, match="open in another studio"):
        Workspace(root)
    for place in ("parts/train/cat/1.jpg", "parts/test/cat/1.jpg", "table/1.jpg"):
        (tmp_path / place).parent.mkdir(parents=True)
        (tmp_path / place).write_bytes(b"1")
    with pytest.raises(FolderError, match="open one of them"):
        Workspace(tmp_path / "parts")
    (tmp_path / "table" / "metadata.csv").write_text("file_name,label\n1.jpg,cat\n")
    with pytest.raises(FolderError, match="come from a table"):
        Workspace(tmp_path / "table")


def test_what_a_kill_leaves_is_undone_as_a_whole(root):
    before = everything(root)
    with opened(root) as workspace:
        workspace.move_images(ids(workspace, "cat/1.jpg", "cat/2.jpg"), "dog")
    os.rename(root / "dog" / "2.jpg", root / "cat" / "2.jpg")  # not yet done
    with (root / ".studio" / "changes.jsonl").open("ab") as file:
        file.write(b'{"change": "half of a li')
    with opened(root) as workspace:
        assert workspace.log.undo() == "move 2 images to dog"
    assert everything(root) == before


def test_an_undo_respects_what_other_programs_have_done(root):
    with opened(root) as workspace:
        workspace.delete_images(ids(workspace, "cat/1.jpg", "cat/2.jpg", "dog/1.jpg"))
        (root / "cat" / "2.jpg").write_bytes(b"another one")
        before = everything(root)
        with pytest.raises(FileExistsError):
            workspace.log.undo()
        assert everything(root) == before
        (root / "cat" / "2.jpg").unlink()
        workspace.log.undo()
        assert (root / "cat" / "2.jpg").read_bytes() == b"cat/2.jpg"
        workspace.move_images(ids(workspace, "cat/1.jpg", "cat/2.jpg"), "dog")
        (root / "dog" / "1-2.jpg").unlink()
        assert workspace.log.undo() == "move 2 images to dog (but 1 of its files are gone)"
        assert {"cat/2.jpg", "dog/1.jpg"} <= set(everything(root))


def test_changes_of_other_programs_are_seen(root):
    with opened(root) as workspace:
        version, end = workspace.listed().version, time.monotonic() + 20
        (root / "bird").mkdir()
        (root / "bird" / "1.jpg").write_bytes(b"bird")
        (root / "dog" / "1.jpg").unlink()
        while workspace.listed().classes != ["bird", "cat"]:
            assert time.monotonic() < end
            time.sleep(0.01)
        assert workspace.listed().version != version


def test_file_names_are_safe_and_seen_by_readers():
    assert file_name("/etc/passwd") == "passwd"
    assert file_name("a<b>:c.jpg") == "a_b__c.jpg"
    assert file_name("con.jpg") == "_con.jpg"
    assert len(os.fsencode(file_name("ä" * 400 + ".jpeg"))) < 255
    assert file_name("ä" * 400 + ".jpeg").endswith(".jpeg")


# folders from strangers


def forge(root, *moves):
    """Write a journal of another hand."""
    (root / ".studio").mkdir(exist_ok=True)
    entry = {"change": "forged-token", "what": "add to cat", "moves": moves, "accepted": []}
    (root / ".studio" / "changes.jsonl").write_text(json.dumps(entry) + "\n")


OUTSIDE = ["../outside/key", "/etc/key", "cat/../../outside/key", "./cat", "cat//1.jpg", ".git/x"]
OUTSIDE += [".studio/changes.jsonl", ".studio/trash/../../../outside/key", ".studio/trash", "a\0b"]


@pytest.mark.parametrize("place", OUTSIDE)
def test_a_journal_with_a_place_outside_of_the_folder_is_refused(root, place):
    before = everything(root.parent)
    for move in ((place, "cat/3.jpg"), ("cat/1.jpg", place)):
        forge(root, move)
        with pytest.raises(FolderError, match="not a journal of the studio"):
            Workspace(root)
    assert everything(root.parent) == before
    (root / ".studio" / "changes.jsonl").write_text("something else\n")
    with pytest.raises(FolderError, match="not a journal"):
        Workspace(root)


@pytest.mark.posix
@pytest.mark.parametrize("place", ["", "trash", "incoming", "changes.jsonl"])
def test_the_studios_own_files_are_no_links(root, place):
    link, target = root / ".studio" / place, root.parent / "outside"
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(target / "key" if "." in place else target)
    before = everything(root.parent)
    with pytest.raises(FolderError, match=r"a link|not a regular file"):
        Workspace(root)
    assert everything(root.parent) == before


@pytest.mark.posix
@pytest.mark.parametrize("place", ["trash/token", "trash/token/cat"])
def test_links_inside_of_the_trash_are_not_followed(root, place):
    """A forged change that was "deleted from" the folder that the link leads to."""
    link = root / ".studio" / place
    link.parent.mkdir(parents=True)
    link.symlink_to(root.parent / "outside", target_is_directory=True)
    forge(root, ("cat/k.jpg", f".studio/{place}/key"))
    before = everything(root.parent)
    with opened(root) as workspace:
        with pytest.raises(OSError, match="a link"):
            workspace.log.undo()
        assert everything(root.parent) == before
        assert workspace.log.done


@pytest.mark.posix
def test_images_of_a_class_that_is_a_link_stay_where_they_are(root):
    (root.parent / "outside" / "9.jpg").write_bytes(b"nine")
    (root / "bird").symlink_to(root.parent / "outside", target_is_directory=True)
    before = everything(root.parent)
    with opened(root) as workspace:
        for change in (
            lambda: workspace.move_images(ids(workspace, "bird/9.jpg"), "cat"),
            lambda: workspace.move_images(ids(workspace, "cat/1.jpg"), "bird"),
            lambda: workspace.delete_images(ids(workspace, "cat/1.jpg", "bird/9.jpg")),
            lambda: workspace.add_image("bird", "new.jpg", b"new", "one-token"),
        ):
            with pytest.raises(OSError, match="a link"):
                change()
            assert everything(root.parent) == before
        workspace.delete_class("bird")  # the link itself
        assert (root.parent / "outside" / "9.jpg").exists()
        workspace.log.undo()
    assert everything(root.parent) == before


@pytest.mark.posix
def test_names_that_differ_in_encoding_are_one_class_and_those_shown_alike_are_two(root):
    both = [unicodedata.normalize(form, "Kätzchen") for form in ("NFC", "NFD")]
    for name in (*both, "a\x1b", "a\\x1b"):
        (root / name).mkdir()
        (root / name / "x.jpg").write_bytes(name.encode())
    before = everything(root)
    with opened(root) as workspace:
        assert len({shown(label) for label in workspace.listed().folders}) == 5
        with pytest.raises(RefusedError, match="2 folders"):
            workspace.rename_class(both[0], "kitten")
        workspace.delete_class(both[0])
        assert not set(both) & set(workspace.listed().classes)
        workspace.log.undo()
    assert everything(root) == before


@pytest.mark.parametrize("call", ["replace", "unlink"])
def test_a_move_that_fails_leaves_no_second_file(tmp_path, monkeypatch, call):
    (tmp_path / "a").write_bytes(b"a")
    unlink = os.unlink

    def no_links(source, target):
        raise PermissionError(1, "Operation not permitted")

    def refuse(path, *_):
        if call == "unlink" and path == tmp_path / "b":
            return unlink(path)
        raise PermissionError(13, "Permission denied")

    if call == "replace":
        monkeypatch.setattr(os, "link", no_links)
    monkeypatch.setattr(os, call, refuse)
    with pytest.raises(PermissionError, match="denied"):
        move_without_replacing(tmp_path / "a", tmp_path / "b")
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["a"]
