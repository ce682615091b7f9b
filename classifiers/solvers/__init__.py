"""Optimisation algorithms, one a file: arrays in, ``(solution, n_iter, violation)`` out."""

__all__: list[str] = []
