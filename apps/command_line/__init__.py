"""What all commands share: how they run, exit codes, the terminal, configuration files."""

__all__: list[str] = []
