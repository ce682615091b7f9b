"""Kernel functions ``(X, Y=None, **parameters) -> Gram matrix``, one family a file."""

__all__: list[str] = []
