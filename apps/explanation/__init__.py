"""Explanations of scores: evidence by place, and its pictures."""

__all__: list[str] = []
