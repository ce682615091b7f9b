"""What people touch: the pipeline, the commands and the report; the only place that wires all."""

__all__: list[str] = []
