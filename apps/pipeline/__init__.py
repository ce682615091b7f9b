"""Images and labels → a model: Dataset, sample, learn, encode, train, calibrate, decide."""

__all__: list[str] = []
