"""Local descriptors → visual words → histograms, or feature sets."""

__all__: list[str] = []
