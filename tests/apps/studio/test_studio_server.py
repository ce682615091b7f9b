"""The requests of the studio's page: images in, models out, nothing lost on the way."""

import json
import os
import re
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import pytest

from tests.apps.conftest import COLORS
from tests.apps.page.conftest import running
from tests.apps.studio.conftest import LIMITS
from visualwords import load
from visualwords.apps.studio.studio_server import create_studio
from visualwords.images import encode_image, read_image


def fill(studio, pictures, classes=("sea", "sand", "wood"), n=5):
    for label in classes:
        assert studio.post("/studio/class", name=label).status_code == 200
        for i in range(n):
            answer = studio.add(label, f"{i}.png", pictures(label, i))
            assert answer.status_code == 200, answer.text


def test_images_become_files_and_an_undo_takes_them_back(studio, pictures):
    fill(studio, pictures, n=2)
    assert (studio.workspace.root / "sea" / "1.png").read_bytes() == pictures("sea", 1)
    assert {label: len(rows) for label, rows in studio.images().items()} == dict.fromkeys(COLORS, 2)
    assert studio.get("/studio/status").json()["undo"] == "add to wood"
    assert studio.post("/studio/undo").json()["what"] == "add to wood"
    assert studio.images()["wood"] == []
    assert studio.post("/studio/redo").json()["what"] == "add to wood"
    moved = [number for _, number in studio.images()["wood"]]
    assert studio.post("/studio/move", images=moved, **{"class": "sea"}).json() == {"images": 2}
    assert studio.post("/studio/class/delete", **{"class": "sea"}).status_code == 200
    assert studio.post("/studio/class/delete", **{"class": "sea"}).status_code == 404
    renamed = studio.post("/studio/class/rename", name="Küste", **{"class": "sand"}).json()
    assert renamed == {"class": "Küste"}
    assert set(studio.images()) == {"Küste", "wood"}


NO_IMAGES = {  # what is added → the status of the answer
    b"not an image": 422,
    b"": 400,
    b"x" * 2_500_000: 413,
    encode_image(np.zeros((1200, 1200, 3), np.uint8)): 422,
}


def test_what_is_no_image_within_the_limits_is_not_kept_and_pictures_are_jpegs(studio, pictures):
    fill(studio, pictures, ["sea"], 1)
    for data, status in NO_IMAGES.items():
        answer = studio.add("sea", "x.png", data)
        assert answer.status_code == status
        assert answer.json()["error"]
    ((_, number),) = studio.images()["sea"]
    for kind in ("thumbnail", "picture"):
        answer = studio.get(f"/studio/{kind}/{number}")
        assert answer.headers["content-type"] == "image/jpeg"
        assert "immutable" in answer.headers["cache-control"]
        assert read_image(answer.content).shape == (48, 64, 3)
    for path in ("0000", "..%2F..%2Fetc%2Fpasswd"):
        assert studio.get(f"/studio/thumbnail/{path}").status_code == 404


def test_foreign_hosts_and_pages_and_bodies_that_are_no_json_are_refused(studio):
    client, path, kind = studio.client, "/studio/class", {"Content-Type": "application/json"}
    evil = {"Origin": "http://evil.example"}, {"Host": "evil.example"}
    assert [client.post(path, headers=headers).status_code for headers in evil] == [403, 403]
    assert client.post(path, content=b'{"name": "x"}').status_code == 415
    for body in (b"[]", b"{", b'{"name": 3}', b"[" * 100_000):
        assert client.post(path, content=body, headers=kind).status_code == 400
    asked = {"move": {"images": 3, "class": "sea"}, "delete": {"images": "all"}}
    asked |= {"settings": {"unknown": "yes"}, "train": {}}
    statuses = [studio.post(f"/studio/{path}", **one).status_code for path, one in asked.items()]
    assert statuses == [404, 400, 400, 409]
    assert studio.images() == {}


def test_with_a_key_everything_but_the_empty_page_needs_it(studio, pictures):
    fill(studio, pictures, ["sea"], 1)
    number = studio.images()["sea"][0][1]
    key = "secret" * 4
    app = create_studio(studio.workspace, studio.learning, limits=LIMITS, any_address=True, key=key)
    with running(app, LIMITS) as (host, port):
        address = f"http://{host}:{port}"
        for path in ("status", "images", f"thumbnail/{number}", f"explain/{number}", "model.vw"):
            assert httpx.get(f"{address}/studio/{path}").status_code == 401
        assert httpx.post(f"{address}/studio/undo", json={}).status_code == 401
        assert httpx.get(f"{address}/report").status_code == 401
        assert httpx.get(address).text.startswith("<!doctype html>")
        for cookie in (f"visualwords-key={key}", f"a=b; visualwords-key={key}"):
            headers = {"Cookie": cookie, "Host": "192.168.1.5"}
            assert httpx.get(f"{address}/studio/status", headers=headers).status_code == 200
    assert len(studio.images()["sea"]) == 1


def test_the_page_has_a_strict_policy_and_only_its_report_may_be_framed(studio):
    policy = studio.get("/").headers["content-security-policy"]
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert studio.get("/report").status_code == 404
    studio.learning.file_of("better", ".html").write_text("<!doctype html>figures")
    answer = studio.get("/report?download")
    assert answer.text.endswith("figures")
    assert "sandbox" in answer.headers["content-security-policy"]
    assert answer.headers["x-frame-options"] == "SAMEORIGIN"


def test_a_quick_model_comes_by_itself_and_knows_what_is_none_of_these_unless_told_otherwise(
    studio, pictures, tmp_path
):
    fill(studio, pictures, n=8)
    status = studio.wait_until_tested()
    model = status["models"][-1]
    assert (model["kind"], model["recipe"], model["images"]) == ("quick", "tiny", 24)
    assert model["right"] == model["tested"] == 24  # figures of the classes
    assert studio.get("/api/model").json()["name"] == "quick"
    path = tmp_path / "taken.vw"
    path.write_bytes(studio.get("/studio/model.vw").content)
    data, noise = (
        pictures("sea", 99),
        encode_image(np.random.default_rng(0).integers(0, 256, (48, 64, 3), dtype=np.uint8)),
    )

    def answer(data):
        return studio.client.post("/api/predict", content=data).json()

    assert answer(data)["label"] == load(path).predict([data])[0] == "sea"
    number = studio.images()["sand"][0][1]
    assert studio.get(f"/studio/explain/{number}").json()["classes"][0]["map"]
    assert answer(noise)["unknown"]
    assert model["knows_unknown"]
    assert "--recipe tiny --unknown 0.05" in status["commands"]["train"]
    assert studio.post("/studio/settings", unknown=False).status_code == 200
    after = studio.wait_until_tested(after=model["number"])
    assert not answer(noise)["unknown"]
    assert "--unknown" not in after["commands"]["train"]


def test_a_wrong_label_is_the_first_question_and_its_correction_shows_in_what_changed(
    studio, pictures
):
    fill(studio, pictures)
    studio.add("sand", "wrong.png", pictures("sea", 50))
    brighter = np.clip(read_image(pictures("wood", 1)).astype(int) + 2, 0, 255).astype("u1")
    studio.add("wood", "copy.png", encode_image(brighter))
    first = studio.wait_until_tested()["models"][-1]
    assert [pair["apart"] for pair in studio.get("/studio/queue").json()["pairs"]] == [False]
    copy = dict(studio.images()["wood"])["copy.png"]
    studio.post("/studio/move", images=[copy], **{"class": "sand"})
    assert [pair["apart"] for pair in studio.get("/studio/queue").json()["pairs"]] == [True]
    studio.post("/studio/undo")
    question = studio.get("/studio/queue").json()["questions"][0]
    wrong = dict(studio.images()["sand"])["wrong.png"]
    assert (question["id"], question["label"], question["guess"]) == (wrong, "sand", "sea")
    assert question["twin"] in dict(map(reversed, studio.images()["sea"]))

    def asked():
        return [one["id"] for one in studio.get("/studio/queue").json()["questions"]]

    studio.post("/studio/accept", images=[wrong])
    assert wrong not in asked()
    studio.post("/studio/undo")
    assert wrong in asked()
    assert studio.post("/studio/move", images=[wrong], **{"class": "sea"}).json() == {"images": 1}
    second = studio.wait_for(lambda s: s["models"][-1]["number"] > first["number"])["models"][-1]
    assert wrong not in asked()
    changed = studio.get(f"/studio/changed?first={first['number']}&second={second['number']}")
    found = changed.json()
    assert found["images"] == 17
    assert found["second_right"] >= found["first_right"]
    assert 0 < found["p"] <= 1
    assert studio.get("/studio/changed?first=77&second=1").status_code == 404


def test_a_better_model_answers_before_it_is_tested_and_shows_its_folds(
    studio, pictures, monkeypatch
):
    monkeypatch.setattr("visualwords.apps.studio.trainer.BUDGET", 0.01)
    fill(studio, pictures)
    studio.wait_until_tested()
    assert studio.post("/studio/train").status_code == 200
    seen = []

    def is_tested(status):
        better = status["training"]["better"]
        seen.append((better["phase"], better["fold"], better["left"], status["answering"]))
        return not better["on"] and status["models"][-1]["kind"] == "better"

    status = studio.wait_for(is_tested, pause=0.01)
    assert all(left is None for phase, *_, left, _ in seen if phase != "testing")
    testing = [(fold, left, names) for phase, fold, left, names in seen if phase == "testing"]
    assert {names[0] for *_, names in testing} == {"better"}
    assert all(re.fullmatch("fold [1-5] of 5", fold) for fold, *_ in testing)
    assert all((left is None) == fold.startswith("fold 1") for fold, left, _ in testing)
    assert status["report"]
    assert status["training"]["better"]["notes"]
    assert "right" in studio.get("/report").text
    assert studio.get("/api/model").json()["name"] == "better"
    studio.post("/studio/class", name="fog")
    studio.add("fog", "1.png", pictures("sea", 1))
    studio.wait_for(lambda s: s["answering"] == ["quick"])  # the better one lacks a class
    assert studio.post("/studio/cancel").status_code == 200


def test_images_that_are_moved_while_a_model_is_tested_keep_their_results(
    studio, pictures, monkeypatch
):
    from visualwords.apps.studio import trainer

    test = trainer.cross_validate

    def move_and_test(*arguments, **named):
        (studio.workspace.root / "sand").rename(studio.workspace.root / "moved")
        return test(*arguments, **named)

    monkeypatch.setattr(trainer, "cross_validate", move_and_test)
    fill(studio, pictures)
    before = {number for rows in studio.images().values() for _, number in rows}
    studio.wait_for(lambda s: s["models"] and s["models"][-1]["images"] == 15)
    assert set(studio.learning.shelf.models[-1].rows) == before


@pytest.mark.posix
def test_a_restart_finds_images_models_and_undo_again(open_studio, pictures, tmp_path):
    before = open_studio(tmp_path / "mine")
    fill(before, pictures)
    before.wait_until_tested()
    images = before.images()
    before.__exit__()
    models = tmp_path / "mine" / ".studio" / "models"  # the folder may be from a stranger
    (models / "tested-9.json").write_text("{}")
    os.mkfifo(models / "tested-8.json")
    (tmp_path / "secret").write_text("mine")
    (models / "better.html").symlink_to(tmp_path / "secret")
    (models / "never-unknown").symlink_to(tmp_path / "made")
    after = open_studio(tmp_path / "mine")
    status = after.wait_for(lambda s: s["answering"])
    assert after.images() == images
    assert len(status["models"]) == len(before.learning.shelf.models)
    assert status["undo"] == "add to wood"
    assert after.get("/report").status_code == 404
    after.post("/studio/settings", unknown=False)
    assert not (tmp_path / "made").exists()


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
    with ThreadPoolExecutor(4) as threads:
        jobs = [
            threads.submit(studio.add, "sea", "same.png", pictures("sea", i), f"{i % 2}" * 16)
            for i in range(12)
        ]
    assert all(job.result().status_code == 200 for job in jobs)
    assert len(studio.images()["sea"]) == 12


def test_names_that_are_no_text_are_shown_and_can_be_used(open_studio, pictures, tmp_path):
    odd = tmp_path / "mine" / "<b>bold"
    odd.mkdir(parents=True)
    (odd / "a\udcff.png").write_bytes(pictures("sea", 1))
    studio = open_studio(tmp_path / "mine")
    assert json.dumps(studio.images())
    number = studio.images()["<b>bold"][0][1]
    assert studio.get(f"/studio/thumbnail/{number}").status_code == 200
    assert studio.post("/studio/delete", images=[number]).json() == {"images": 1}
    studio.post("/studio/undo")
    assert len(studio.images()["<b>bold"]) == 1
