"""Progress reports of long work, independent of how they are shown."""

from time import perf_counter
from typing import Protocol


class Progress(Protocol):
    """Something that shows progress; the commands draw bars, the library is silent."""

    def start(self, stage: str, total: int) -> None:
        """Begin a stage of ``total`` steps."""

    def advance(self, steps: int = 1) -> None:
        """Finish some steps of the stage."""

    def status(self, line: str) -> None:
        """Say what the next stages belong to, to somebody who is watching."""

    def note(self, line: str) -> None:
        """Print a result as soon as it is known."""


class Silent:
    """Shows nothing."""

    def start(self, stage: str, total: int) -> None:
        """Begin a stage."""

    def advance(self, steps: int = 1) -> None:
        """Finish some steps."""

    def status(self, line: str) -> None:
        """Say what comes next."""

    def note(self, line: str) -> None:
        """Print a result."""


class PartOf(Silent):
    """Reports the steps of a part of a stage as steps of the stage, which has begun.

    Parameters
    ----------
    stage : Progress
    """

    def __init__(self, stage: Progress):
        self.stage = stage

    def advance(self, steps: int = 1) -> None:
        """Finish some steps."""
        self.stage.advance(steps)


class StageTimes:
    """Pass progress on, and record how long every stage took.

    A stage lasts until the next one begins; times of a repeated stage are added up.

    Parameters
    ----------
    listener : Progress, optional
        Receives the same reports.

    Attributes
    ----------
    seconds : dict of stage → seconds of the clock, in the order of their first appearance

    Examples
    --------
    >>> times = StageTimes()
    >>> times.start("reading", 1)
    >>> times.advance()
    >>> times.start("training", 1)
    >>> times.stop()
    >>> list(times.seconds)
    ['reading', 'training']
    """

    def __init__(self, listener: Progress | None = None):
        self.listener = listener or Silent()
        self.seconds: dict[str, float] = {}
        self._stage: str | None = None
        self._since = 0.0

    def start(self, stage: str, total: int) -> None:
        """Begin a stage, which ends the one before."""
        self.stop()
        self._stage, self._since = stage, perf_counter()
        self.listener.start(stage, total)

    def advance(self, steps: int = 1) -> None:
        """Finish some steps of the stage."""
        self.listener.advance(steps)

    def status(self, line: str) -> None:
        """Say what the next stages belong to."""
        self.listener.status(line)

    def note(self, line: str) -> None:
        """Print a result."""
        self.listener.note(line)

    def stop(self) -> None:
        """End the stage that is under way."""
        if self._stage is not None:
            spent = perf_counter() - self._since
            self.seconds[self._stage] = self.seconds.get(self._stage, 0.0) + spent
        self._stage = None
