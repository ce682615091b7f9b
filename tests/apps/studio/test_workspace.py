"""Classes and images as plain folders: every action, its undoing, and what a kill leaves."""

import os
import time

import pytest

from visualwords.apps.page.guards import RefusedError
from visualwords.apps.studio.class_folders import file_name, list_classes
from visualwords.apps.studio.workspace import Workspace
from visualwords.errors import FolderError
from visualwords.folders import ImageFolder


@pytest.fixture
def workspace(tmp_path):
    for place in ("cat/1.jpg", "cat/2.jpg", "cat/deep/3.jpg", "dog/1.jpg"):
        path = tmp_path / "photos" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(place.encode())
    opened = Workspace(tmp_path / "photos")
    yield opened
    opened.close()


def contents(root):
    """Return place → content of all that readers of image folders see."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".studio" not in path.parts
    }


def numbers(workspace, *places):
    return [image.id for image in workspace.listed().images if image.place in places]


ACTIONS = {
    "add class": lambda w: w.add_class("bird"),
    "rename class": lambda w: w.rename_class("cat", "Kätzchen"),
    "delete class": lambda w: w.delete_class("cat"),
    "add image": lambda w: w.add_image("dog", "1.jpg", b"another one", "token-token"),
    "move images": lambda w: w.move_images(numbers(w, "cat/1.jpg", "cat/deep/3.jpg"), "dog"),
    "delete images": lambda w: w.delete_images(numbers(w, "cat/2.jpg", "dog/1.jpg")),
}


@pytest.mark.parametrize("action", ACTIONS)
def test_every_action_is_undone_and_done_again_also_after_a_restart(workspace, action):
    root = workspace.root
    before, classes = contents(root), list(workspace.listed().folders)
    ACTIONS[action](workspace)
    after = contents(root)
    workspace.close()
    again = Workspace(root)
    try:
        assert again.log.undo() is not None
        assert contents(root) == before
        assert list(again.listed().folders) == classes
        again.log.redo()
        assert contents(root) == after
        again.log.undo()
        assert contents(root) == before
    finally:
        again.close()


def test_the_commands_read_the_same_images(workspace):
    workspace.move_images(numbers(workspace, "cat/1.jpg"), "dog")
    workspace.delete_images(numbers(workspace, "cat/2.jpg"))
    folder = ImageFolder(workspace.root)
    listed = workspace.listed()
    assert [os.path.relpath(p, workspace.root) for p in folder.paths] == [
        image.place for image in listed.images
    ]
    assert folder.labels == [image.label for image in listed.images]


def test_an_image_keeps_its_id_when_it_is_moved(workspace):
    number = numbers(workspace, "cat/1.jpg")
    workspace.move_images(number, "dog")
    assert workspace.image(number[0]).place == "dog/1-2.jpg"
    assert workspace.image(number[0]).label == "dog"


def test_files_that_come_together_are_undone_together(workspace):
    before = contents(workspace.root)
    for i in range(3):
        workspace.add_image("dog", f"new{i}.jpg", b"%d" % i, "one-drop")
    assert len(contents(workspace.root)) == len(before) + 3
    workspace.log.undo()
    assert contents(workspace.root) == before
    assert workspace.log.undo() is None


def test_a_name_that_is_taken_gets_a_number_and_an_equal_file_is_not_added(workspace):
    image, is_new = workspace.add_image("dog", "1.jpg", b"dog/1.jpg", "first-token")
    assert (image.place, is_new) == ("dog/1.jpg", False)
    image, is_new = workspace.add_image("dog", "1.jpg", b"else", "first-token")
    assert (image.place, is_new) == ("dog/1-2.jpg", True)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("", "needs a name"),
        ("../up", "can't be that of a folder"),
        (".hidden", "can't be that of a folder"),
        ("a/b", "can't be that of a folder"),
        ("nul", "can't be that of a folder"),
        ("train", "part of a data set"),
        ("x" * 101, "longer than 100"),
    ],
)
def test_names_that_are_no_class_folders_are_refused(workspace, name, sentence):
    with pytest.raises(RefusedError, match=sentence):
        workspace.add_class(name)
    with pytest.raises(RefusedError, match=sentence):
        workspace.rename_class("cat", name)


def test_a_class_that_is_there_is_found_and_not_made_twice(workspace):
    assert workspace.add_class(" CAT ") == "cat"
    assert not workspace.log.done
    with pytest.raises(RefusedError, match="there is a class"):
        workspace.rename_class("cat", "Dog")


def test_a_second_studio_of_the_same_folder_is_refused(workspace):
    with pytest.raises(FolderError, match="open in another studio"):
        Workspace(workspace.root)


def test_splits_and_tables_are_refused_with_what_to_do(tmp_path):
    for part in ("train", "test"):
        (tmp_path / "parts" / part / "cat").mkdir(parents=True)
        (tmp_path / "parts" / part / "cat" / "1.jpg").write_bytes(b"1")
    with pytest.raises(FolderError, match="open one of them"):
        Workspace(tmp_path / "parts")
    (tmp_path / "table").mkdir()
    (tmp_path / "table" / "1.jpg").write_bytes(b"1")
    (tmp_path / "table" / "metadata.csv").write_text("file_name,label\n1.jpg,cat\n")
    with pytest.raises(FolderError, match="come from a table"):
        Workspace(tmp_path / "table")


def test_a_journal_that_was_cut_short_is_read_up_to_the_cut(workspace):
    before = contents(workspace.root)
    workspace.delete_images(numbers(workspace, "cat/1.jpg"))
    workspace.close()
    journal = workspace.root / ".studio" / "changes.jsonl"
    with journal.open("ab") as file:
        file.write(b'{"change": "half of a li')
    again = Workspace(workspace.root)
    again.log.undo()
    again.close()
    assert contents(workspace.root) == before
    journal.write_text("something else\n")
    with pytest.raises(FolderError, match="not a journal"):
        Workspace(workspace.root)


def test_a_change_that_was_killed_half_way_is_undone_as_a_whole(workspace):
    before = contents(workspace.root)
    workspace.move_images(numbers(workspace, "cat/1.jpg", "cat/2.jpg"), "dog")
    workspace.close()
    os.rename(workspace.root / "dog" / "2.jpg", workspace.root / "cat" / "2.jpg")  # not yet done
    again = Workspace(workspace.root)
    assert again.log.undo() == "move 2 images to dog"
    again.close()
    assert contents(workspace.root) == before


@pytest.mark.posix
def test_a_full_disk_changes_nothing(workspace, monkeypatch):
    before = contents(workspace.root)

    def full(file, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("visualwords.apps.studio.change_log.append", full)
    for action in ACTIONS.values():
        with pytest.raises(OSError, match="No space"):
            action(workspace)
    assert contents(workspace.root) == before
    assert not workspace.log.done
    assert list((workspace.root / ".studio" / "incoming").iterdir()) == []


def test_changes_of_other_programs_are_seen(workspace):
    def wait_for(is_so):
        end = time.monotonic() + 20
        while not is_so(workspace.listed()):
            assert time.monotonic() < end
            time.sleep(0.01)

    version = workspace.listed().version
    (workspace.root / "bird").mkdir()
    (workspace.root / "bird" / "1.jpg").write_bytes(b"bird")
    wait_for(lambda listed: listed.version != version and "bird" in listed.classes)
    (workspace.root / "dog" / "1.jpg").unlink()
    wait_for(lambda listed: "dog" not in listed.classes)


def test_two_names_of_one_file_are_two_images(workspace):
    os.link(workspace.root / "cat/1.jpg", workspace.root / "dog/same.jpg")
    listed = list_classes(workspace.root)
    assert len(listed.by_id) == len(listed.images) == 5


def test_file_names_are_safe_and_seen_by_readers():
    assert file_name("/etc/passwd") == "passwd"
    assert file_name("a<b>:c.jpg") == "a_b__c.jpg"
    assert file_name("con.jpg") == "_con.jpg"
    assert len(os.fsencode(file_name("ä" * 400 + ".jpeg"))) < 255
    assert file_name("ä" * 400 + ".jpeg").endswith(".jpeg")
