"""How long work tells how far it is, without knowing who listens."""

from typing import Protocol


class Progress(Protocol):
    """Something that shows progress; the commands draw bars, the library is silent."""

    def start(self, stage: str, total: int) -> None:
        """Begin a stage of ``total`` steps."""

    def advance(self, steps: int = 1) -> None:
        """Finish some steps of the stage."""


class Silent:
    """Shows nothing."""

    def start(self, stage: str, total: int) -> None:
        """Begin a stage."""

    def advance(self, steps: int = 1) -> None:
        """Finish some steps."""
