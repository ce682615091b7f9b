"""The requests of the studio's page: images in, models out, nothing lost on the way."""

import json

import httpx
import numpy as np

from tests.apps.studio.conftest import TOKEN
from visualwords import load
from visualwords.images import encode_image, read_image


def fill(studio, pictures, classes=("sea", "sand", "wood"), n=5):
    for label in classes:
        assert studio.post("/studio/class", name=label).status_code == 200
        for i in range(n):
            answer = studio.add(label, f"{i}.png", pictures(label, i))
            assert answer.status_code == 200, answer.text


def test_images_become_files_and_an_undo_takes_them_back(studio, pictures):
    fill(studio, pictures, n=2)
    root = studio.workspace.root
    assert (root / "sea" / "1.png").read_bytes() == pictures("sea", 1)
    assert {label: len(rows) for label, rows in studio.images().items()} == {
        "sand": 2,
        "sea": 2,
        "wood": 2,
    }
    assert studio.get("/studio/status").json()["undo"] == "add to wood"
    assert studio.post("/studio/undo").json()["what"] == "add to wood"
    assert studio.images()["wood"] == []


def test_thumbnails_and_pictures_are_jpegs_that_browsers_keep(studio, pictures):
    fill(studio, pictures, ["sea"], 1)
    number = studio.images()["sea"][0][1]
    for kind in ("thumbnail", "picture"):
        answer = studio.get(f"/studio/{kind}/{number}")
        assert answer.headers["content-type"] == "image/jpeg"
        assert "immutable" in answer.headers["cache-control"]
        assert read_image(answer.content).shape == (48, 64, 3)
    assert studio.get("/studio/thumbnail/0000").status_code == 404
    assert studio.get("/studio/thumbnail/..%2F..%2Fetc%2Fpasswd").status_code == 404


def test_what_is_no_image_within_the_limits_is_not_kept(studio):
    studio.post("/studio/class", name="sea")
    for data, status in (
        (b"not an image", 422),
        (b"", 400),
        (b"x" * 2_500_000, 413),
        (encode_image(np.zeros((1200, 1200, 3), np.uint8)), 422),
    ):
        answer = studio.add("sea", "x.png", data)
        assert answer.status_code == status
        assert answer.json()["error"]
    assert studio.images() == {"sea": []}


def test_foreign_hosts_and_pages_and_bodies_that_are_no_json_are_refused(studio):
    client = studio.client
    answer = client.post("/studio/undo", headers={"Origin": "http://evil.example"})
    assert answer.status_code == 403
    assert client.get("/studio/status", headers={"Host": "evil.example"}).status_code == 403
    assert client.post("/studio/class", content=b'{"name": "x"}').status_code == 415
    for body in (b"[]", b"{", b'{"name": 3}'):
        answer = client.post(
            "/studio/class", content=body, headers={"Content-Type": "application/json"}
        )
        assert answer.status_code == 400
    assert studio.images() == {}


def test_the_page_has_a_strict_policy_and_only_its_report_may_be_framed(studio):
    policy = studio.get("/").headers["content-security-policy"]
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    studio.learning.file_of("better", ".html").write_text("<!doctype html>figures")
    answer = studio.get("/report")
    assert answer.text.endswith("figures")
    assert "sandbox" in answer.headers["content-security-policy"]
    assert answer.headers["x-frame-options"] == "SAMEORIGIN"


def test_a_quick_model_comes_by_itself_and_answers_as_its_file_does(studio, pictures, tmp_path):
    fill(studio, pictures)
    status = studio.wait_until_tested()
    model = status["models"][-1]
    assert (model["kind"], model["recipe"], model["images"]) == ("quick", "tiny", 15)
    assert model["right"] == model["tested"] == 15
    assert studio.get("/api/model").json()["name"] == "quick"
    path = tmp_path / "taken.vw"
    path.write_bytes(studio.get("/studio/model.vw").content)
    data = pictures("sea", 99)
    answer = studio.client.post("/api/predict", content=data).json()
    assert answer["label"] == load(path).predict([data])[0] == "sea"
    number = studio.images()["sand"][0][1]
    assert studio.get(f"/studio/explain/{number}").json()["classes"][0]["map"]
    assert "--recipe tiny" in status["commands"]["train"]


def test_a_wrong_label_is_the_first_question_and_its_correction_shows_in_what_changed(
    studio, pictures
):
    fill(studio, pictures)
    studio.add("sand", "wrong.png", pictures("sea", 50))
    first = studio.wait_until_tested()
    question = studio.get("/studio/queue").json()["questions"][0]
    wrong = dict((name, number) for name, number in studio.images()["sand"])["wrong.png"]
    assert (question["id"], question["label"], question["guess"]) == (wrong, "sand", "sea")
    assert studio.post("/studio/move", images=[wrong], **{"class": "sea"}).json() == {"images": 1}
    second = studio.wait_for(lambda s: s["models"][-1]["number"] > first["models"][-1]["number"])
    assert not [q for q in studio.get("/studio/queue").json()["questions"] if q["id"] == wrong]
    numbers = [status["models"][-1]["number"] for status in (first, second)]
    changed = studio.get(f"/studio/changed?first={numbers[0]}&second={numbers[1]}").json()
    assert changed["images"] == 16
    assert changed["second_right"] >= changed["first_right"]
    assert "McNemar" in changed["sentence"]
    assert studio.get("/studio/changed?first=77&second=1").status_code == 404


def test_an_accepted_label_is_not_asked_about_again_until_that_is_undone(studio, pictures):
    fill(studio, pictures)
    studio.add("sand", "wrong.png", pictures("sea", 50))
    studio.wait_until_tested()
    asked = [q["id"] for q in studio.get("/studio/queue").json()["questions"]]
    studio.post("/studio/accept", images=asked[:1])
    assert asked[0] not in [q["id"] for q in studio.get("/studio/queue").json()["questions"]]
    studio.post("/studio/undo")
    assert asked[0] in [q["id"] for q in studio.get("/studio/queue").json()["questions"]]


def test_near_copies_are_shown_as_pairs(studio, pictures):
    fill(studio, pictures)
    pixels = read_image(pictures("wood", 1))
    studio.add(
        "sand", "copy.png", encode_image(np.clip(pixels.astype(int) + 2, 0, 255).astype("u1"))
    )
    studio.wait_until_tested()
    pairs = studio.get("/studio/queue").json()["pairs"]
    assert len(pairs) == 1
    assert pairs[0]["apart"]


def test_a_better_model_brings_its_report_and_can_be_stopped(studio, pictures, monkeypatch):
    monkeypatch.setattr("visualwords.apps.studio.learning.BUDGET", 0.01)
    assert studio.post("/studio/train").status_code == 409
    fill(studio, pictures)
    studio.wait_until_tested()
    assert studio.post("/studio/train").status_code == 200
    status = studio.wait_until_tested("better")
    assert status["report"]
    assert status["training"]["better"]["notes"][0].startswith("auto tries")
    assert "right" in studio.get("/report").text
    assert studio.get("/api/model").json()["name"] == "better"
    assert studio.post("/studio/cancel").status_code == 200


def test_unknown_is_learned_when_it_is_wanted(studio, pictures):
    fill(studio, pictures)
    before = studio.wait_until_tested()["models"][-1]["number"]
    assert studio.post("/studio/settings", unknown="yes").status_code == 400
    assert studio.post("/studio/settings", unknown=True).status_code == 200
    studio.wait_until_tested(after=before)
    assert load(studio.learning.file_of("quick")).decision_.unknown is not None
    assert "--unknown 0.05" in studio.get("/studio/status").json()["commands"]["train"]


def test_a_restart_finds_images_models_and_undo_again(open_studio, pictures, tmp_path):
    before = open_studio(tmp_path / "mine")
    fill(before, pictures)
    before.wait_until_tested()
    images = before.images()
    before.__exit__()
    after = open_studio(tmp_path / "mine")
    status = after.wait_for(lambda s: s["answering"])
    assert after.images() == images
    assert len(status["models"]) == len(before.learning.shelf.models)
    assert status["undo"] == "add to wood"


def test_renaming_a_class_renames_it_in_what_models_said(studio, pictures):
    fill(studio, pictures)
    studio.wait_until_tested()
    answer = studio.post("/studio/class/rename", name="Meeresküste", **{"class": "sea"})
    assert answer.json() == {"class": "Meeresküste"}
    assert all(
        m["classes"][0] == "Meeresküste" for m in studio.get("/studio/status").json()["models"]
    )


def test_a_full_disk_is_a_sentence_and_nothing_is_changed(studio, pictures, monkeypatch):
    fill(studio, pictures, ["sea"], 1)

    def full(file, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("visualwords.apps.studio.change_log.append", full)
    answer = studio.add("sea", "more.png", pictures("sea", 3))
    assert answer.status_code == 507
    assert "no space left" in answer.json()["error"]
    assert len(studio.images()["sea"]) == 1


def test_two_clients_at_once_lose_no_image(studio, pictures):
    studio.post("/studio/class", name="sea")
    with httpx.Client(base_url=studio.address, timeout=30, trust_env=False) as other:
        for i in range(6):
            for client, token in ((studio.client, TOKEN), (other, "f" * 16)):
                query = {"class": "sea", "name": "same.png", "change": token}
                data = pictures("sea", 2 * i + (client is other))
                assert client.post("/studio/add", params=query, content=data).status_code == 200
    assert len(studio.images()["sea"]) == 12


def test_names_that_are_no_text_are_shown_and_can_be_used(open_studio, pictures, tmp_path):
    root = tmp_path / "mine"
    odd = root / "<b>bold"
    odd.mkdir(parents=True)
    (odd / "a\udcff.png").write_bytes(pictures("sea", 1))
    studio = open_studio(root)
    assert json.dumps(studio.images())
    number = studio.images()["<b>bold"][0][1]
    assert studio.get(f"/studio/thumbnail/{number}").status_code == 200
    assert studio.post("/studio/delete", images=[number]).json() == {"images": 1}
    studio.post("/studio/undo")
    assert len(studio.images()["<b>bold"]) == 1
