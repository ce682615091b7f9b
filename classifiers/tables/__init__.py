"""The histogram intersection SVM's parts: quantised levels, surveys of values, tables."""

__all__: list[str] = []
