"""Histograms or feature sets → labels."""

__all__: list[str] = []
