"""Parallel work on the workers of a Dask cluster."""

__all__: list[str] = []
