"""Object detection: windows of all sizes, scored by additive models."""

__all__: list[str] = []
