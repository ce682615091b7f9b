"""Boxes in images, in the formats of other programs: one module for each format."""

__all__: list[str] = []
