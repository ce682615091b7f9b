"""Processes that answer for the server: as the model itself does, whatever an image does."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from tests.apps.conftest import COLORS, noisy
from visualwords.apps.page.answering import answers_of, served_models
from visualwords.apps.page.questions import Question
from visualwords.apps.page.refusals import RefusedError
from visualwords.apps.page.worker_processes import WorkerProcesses, can_fork
from visualwords.apps.pipeline.image_classifier import ImageClassifier
from visualwords.errors import (
    CrashedDecoderError,
    DamagedImageError,
    ImageTooLargeError,
    ModelFileError,
    UnknownFormatError,
)
from visualwords.images import encode_image

pytestmark = pytest.mark.skipif(not can_fork(), reason="needs Linux")
MAX_PIXELS = 100_000
SEA = encode_image(noisy(COLORS["sea"], np.random.default_rng(5)), "jpeg")


def trained(path, prefix=""):
    rng = np.random.default_rng(1)
    images = [noisy(color, rng) for color in COLORS.values() for _ in range(8)]
    labels = [prefix + name for name in COLORS for _ in range(8)]
    ImageClassifier("color").fit(images, labels).save(path)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "coast.vw"
    trained(path)
    return path


@pytest.fixture(scope="module")
def processes():
    found = WorkerProcesses()
    yield found
    found.close()


@pytest.fixture(scope="module")
def answers(processes, model):
    return processes.load(model, MAX_PIXELS)


def label_of(answers):
    return answers.predict(SEA, Question())["label"]


def worker_of(processes):
    """Return the process that answers this thread."""
    return processes._own.worker.process


def test_processes_answer_as_the_model_itself_does(answers, model):
    alone = answers_of(model, MAX_PIXELS)
    assert answers.about() == alone.about()
    for question in (Question(), Question(top=1, min_confidence=0.99, thresholds=(("wood", 0.1),))):
        found, expected = answers.predict(SEA, question), alone.predict(SEA, question)
        assert found | {"seconds": 0} == expected | {"seconds": 0}
    found, expected = answers.explain(SEA, 2, None), alone.explain(SEA, 2, None)
    assert found | {"seconds": 0} == expected | {"seconds": 0}
    assert answers.preview(SEA) == alone.preview(SEA)


def test_what_a_worker_refuses_is_refused_here(answers):
    large = encode_image(np.zeros((400, 300, 3), np.uint8))
    for data, error in (
        (b"no image", UnknownFormatError),
        (SEA[: len(SEA) // 2], DamagedImageError),
        (large, ImageTooLargeError),
    ):
        with pytest.raises(error):
            answers.predict(data, Question())
    with pytest.raises(RefusedError, match="no such class") as refused:
        answers.explain(SEA, 1, "fog")
    assert refused.value.status == 404
    assert label_of(answers) == "sea"


@pytest.mark.parametrize(
    ("number", "error", "words"),
    [
        (signal.SIGSEGV, CrashedDecoderError, "crashed"),
        (signal.SIGPROF, DamagedImageError, "took too long"),  # the limit of processor time
    ],
)
def test_a_worker_that_ends_costs_one_answer(processes, answers, number, error, words):
    label_of(answers)
    worker = worker_of(processes)
    os.kill(worker, signal.SIGSTOP)  # so that it has the image when it ends

    def end_soon():
        time.sleep(0.3)
        os.kill(worker, number)
        os.kill(worker, signal.SIGCONT)

    ending = threading.Thread(target=end_soon)
    ending.start()
    with pytest.raises(error, match=words) as caught:
        answers.predict(SEA, Question())
    ending.join()
    assert type(caught.value) is error
    assert label_of(answers) == "sea"
    assert worker_of(processes) != worker


def test_a_worker_that_ended_while_idle_costs_nothing(processes, answers):
    label_of(answers)
    worker = worker_of(processes)
    os.kill(worker, signal.SIGKILL)
    while not processes._own.worker.has_ended:
        time.sleep(0.01)
    assert label_of(answers) == "sea"
    assert worker_of(processes) != worker


def test_threads_have_workers_of_their_own(processes, answers):
    label_of(answers)
    found = []

    def ask():
        found.extend([label_of(answers), worker_of(processes)])

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert found[0] == "sea"
    assert found[1] != worker_of(processes)


def test_a_model_is_kept_until_a_good_file_replaces_it(processes, model, tmp_path):
    path = tmp_path / "coast.vw"
    shutil.copy(model, path)
    first = processes.load(path, MAX_PIXELS)
    assert label_of(first) == "sea"
    path.write_bytes(b"no model")
    with pytest.raises(ModelFileError, match="not a usable model file"):
        processes.load(path, MAX_PIXELS)
    os.kill(worker_of(processes), signal.SIGKILL)
    while not processes._own.worker.has_ended:
        time.sleep(0.01)
    assert label_of(first) == "sea"  # of a new worker, whose file is another
    trained(path, "new ")
    second = processes.load(path, MAX_PIXELS)
    assert [label_of(first), label_of(second), label_of(first)] == ["sea", "new sea", "sea"]


def test_the_process_that_has_the_models_is_replaced_when_it_ends(processes, answers):
    label_of(answers)
    before = processes._template._process
    os.kill(before.pid, signal.SIGKILL)
    before.wait()
    os.kill(worker_of(processes), signal.SIGKILL)
    while not processes._own.worker.has_ended:
        time.sleep(0.01)
    assert label_of(answers) == "sea"
    assert processes._template._process.pid != before.pid


def test_closing_ends_all_processes_and_tells_those_who_wait(model):
    served = served_models([str(model)], MAX_PIXELS, in_processes=True)
    answers = served.find(None)
    assert label_of(answers) == "sea"
    processes = answers._processes
    template, worker = processes._template._process, worker_of(processes)
    os.kill(worker, signal.SIGSTOP)
    closing = threading.Timer(0.3, served.close)
    closing.start()
    with pytest.raises(CrashedDecoderError):
        answers.predict(SEA, Question())
    closing.join()
    assert template.poll() is not None
    with pytest.raises(CrashedDecoderError, match="being stopped"):
        answers.predict(SEA, Question())


def test_the_program_of_the_server_does_not_load_what_only_its_workers_need():
    modules = "answering", "server", "serving", "worker_processes"
    code = "".join(f"import visualwords.apps.page.{name}; " for name in modules)
    code += (
        "import sys; print([name for name in ('numba', 'scipy', 'sklearn') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
