"""How good a model is and what is wrong with its data: figures, trials, checks."""

__all__: list[str] = []
