"""Folders from strangers, and disks that fail: nothing outside is touched, nothing is half done."""

import json
import os
import unicodedata
from contextlib import closing

import pytest

from visualwords.apps.page.guards import RefusedError
from visualwords.apps.studio.class_folders import list_classes, shown
from visualwords.apps.studio.workspace import Workspace
from visualwords.errors import FolderError
from visualwords.files import move_without_replacing


@pytest.fixture
def root(tmp_path):
    """Give a folder of two classes, beside one with a file that must stay as it is."""
    for place in ("photos/cat/1.jpg", "photos/cat/2.jpg", "photos/dog/1.jpg", "outside/key"):
        path = tmp_path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(place.encode())
    return tmp_path / "photos"


def everything(folder):
    """Return place → content of all files and links of a folder, but for the journal."""
    return {
        os.path.relpath(path, folder): os.readlink(path) if path.is_symlink() else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if (path.is_symlink() or path.is_file()) and path.name != "changes.jsonl"
    }


def opened(root):
    return closing(Workspace(root))


def ids(workspace, *places):
    return [image.id for image in workspace.listed().images if image.place in places]


OUTSIDE = ["../outside/key", "/etc/key", "cat/../../outside/key", "./cat", "cat//1.jpg", ".git/x"]
OUTSIDE += [".studio/changes.jsonl", ".studio/trash/../../../outside/key", ".studio/trash", "a\0b"]


@pytest.mark.parametrize("place", OUTSIDE)
@pytest.mark.parametrize("side", [0, 1])
def test_a_journal_with_a_place_outside_of_the_folder_is_refused(root, place, side):
    move = ["cat/1.jpg", "cat/3.jpg"]
    move[side] = place
    (root / ".studio").mkdir()
    entry = {"change": "forged-token", "what": "add to cat", "moves": [move], "accepted": []}
    (root / ".studio" / "changes.jsonl").write_text(json.dumps(entry) + "\n")
    before = everything(root.parent)
    with pytest.raises(FolderError, match="not a journal of the studio"):
        Workspace(root)
    assert everything(root.parent) == before


@pytest.mark.posix
@pytest.mark.parametrize("place", [".studio", ".studio/trash", ".studio/incoming"])
def test_the_studios_own_folders_are_no_links(root, place):
    (root / place).parent.mkdir(exist_ok=True)
    (root / place).symlink_to(root.parent / "outside", target_is_directory=True)
    with pytest.raises(FolderError, match="a link"):
        Workspace(root)
    assert set(os.listdir(root.parent / "outside")) == {"key"}


@pytest.mark.posix
def test_a_journal_that_is_a_link_is_neither_read_nor_cut(root):
    (root / ".studio").mkdir()
    (root / ".studio" / "changes.jsonl").symlink_to(root.parent / "outside" / "key")
    with pytest.raises(FolderError, match="not a regular file"):
        Workspace(root)
    assert (root.parent / "outside" / "key").read_bytes() == b"outside/key"


@pytest.mark.posix
@pytest.mark.parametrize("place", ["trash/token", "trash/token/cat"])
def test_links_inside_of_the_trash_are_not_followed(root, place):
    """A forged change that was "deleted from" the folder that the link leads to."""
    link = root / ".studio" / place
    link.parent.mkdir(parents=True)
    link.symlink_to(root.parent / "outside", target_is_directory=True)
    gone = ".studio/trash/token/key" if place == "trash/token" else ".studio/trash/token/cat/key"
    entry = {"change": "token", "what": "delete", "moves": [["cat/k.jpg", gone]], "accepted": []}
    (root / ".studio" / "changes.jsonl").write_text(json.dumps(entry) + "\n")
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


@pytest.fixture
def failing(monkeypatch):
    """Give ``failing(n)``: from then on the n-th move of a file, counted from 1, fails."""

    def fail_at(number):
        left = [number]

        def move(source, target):
            left[0] -= 1
            if not left[0]:
                raise PermissionError(13, "Permission denied", str(source))
            move_without_replacing(source, target)

        monkeypatch.setattr("visualwords.apps.studio.change_log.move_without_replacing", move)

    return fail_at


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_change_undo_or_redo_that_fails_half_way_is_taken_back(root, failing, number):
    places = ("cat/1.jpg", "cat/2.jpg", "dog/1.jpg")
    with opened(root) as workspace:
        workspace.add_class("bird")
        before = everything(root)
        failing(number)
        with pytest.raises(PermissionError):
            workspace.move_images(ids(workspace, *places), "bird")
        assert everything(root) == before
        workspace.move_images(ids(workspace, *places), "bird")
        after = everything(root)
        failing(number)
        with pytest.raises(PermissionError):
            workspace.log.undo()
        assert everything(root) == after
        assert workspace.log.undo() == "move 3 images to bird"
        failing(number)
        with pytest.raises(PermissionError):
            workspace.log.redo()
        assert everything(root) == before
        assert workspace.log.redo() == "move 3 images to bird"
    with opened(root) as workspace:  # the journal knows of nothing else
        done = [change.what for change in workspace.log.done]
        assert done == ["add class bird", "move 3 images to bird"]
        workspace.log.undo()
        assert everything(root) == before


def test_an_undo_whose_place_is_taken_changes_nothing(root):
    with opened(root) as workspace:
        workspace.delete_images(ids(workspace, "cat/1.jpg", "cat/2.jpg", "dog/1.jpg"))
        (root / "cat" / "2.jpg").write_bytes(b"another one")
        before = everything(root)
        with pytest.raises(FileExistsError):
            workspace.log.undo()
        assert everything(root) == before
        (root / "cat" / "2.jpg").unlink()
        workspace.log.undo()
        assert (root / "cat" / "2.jpg").read_bytes() == b"photos/cat/2.jpg"


def test_an_undo_leaves_out_what_another_program_has_deleted(root):
    with opened(root) as workspace:
        workspace.move_images(ids(workspace, "cat/1.jpg", "cat/2.jpg"), "dog")
        (root / "dog" / "1-2.jpg").unlink()
        assert workspace.log.undo() == "move 2 images to dog (but 1 of its files are gone)"
        assert set(everything(root)) == {"cat/2.jpg", "dog/1.jpg"}


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


@pytest.mark.posix
def test_folders_that_differ_in_encoding_only_are_one_class_in_every_action(root):
    both = [unicodedata.normalize(form, "Kätzchen") for form in ("NFC", "NFD")]
    for name in both:
        (root / name).mkdir()
        (root / name / "x.jpg").write_bytes(name.encode())
    before = everything(root)
    with opened(root) as workspace:
        assert workspace.listed().classes == sorted([both[0], "cat", "dog"])
        with pytest.raises(RefusedError, match="2 folders"):
            workspace.rename_class(both[0], "kitten")
        workspace.delete_class(both[0])
        assert workspace.listed().classes == ["cat", "dog"]
        workspace.log.undo()
    assert everything(root) == before


@pytest.mark.posix
def test_classes_that_a_terminal_shows_alike_have_names_of_their_own(root):
    for name in ("a\x1b", "a\\x1b"):
        (root / name).mkdir()
    assert len({shown(label) for label in list_classes(root).folders}) == 4
