"""Image array → local descriptors, or one vector for the whole image."""

__all__: list[str] = []
