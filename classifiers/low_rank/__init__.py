"""PmSVM's parts: additive kernels as short vectors, and rows of (column, level) pairs."""

__all__: list[str] = []
