"""Stages are timed without the work knowing."""

from visualwords import progress
from visualwords.progress import StageTimes


class Listener:
    def __init__(self):
        self.told = []

    def start(self, stage, total):
        self.told.append((stage, total))

    def advance(self, steps=1):
        self.told.append(steps)


def test_stages_are_timed_added_up_and_passed_on(monkeypatch):
    clock = iter([0.0, 1.0, 1.0, 4.0, 4.0, 4.5])
    monkeypatch.setattr(progress, "perf_counter", lambda: next(clock))
    listener = Listener()
    times = StageTimes(listener)
    times.start("read", 3)
    times.advance(3)
    times.start("learn", 1)
    times.start("read", 2)
    times.stop()
    times.stop()
    assert times.seconds == {"read": 1.5, "learn": 3.0}
    assert listener.told == [("read", 3), 3, ("learn", 1), ("read", 2)]
