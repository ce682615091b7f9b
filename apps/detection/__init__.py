"""Finding objects in photographs: windows of all sizes, scored by additive models."""

__all__: list[str] = []
