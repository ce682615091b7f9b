"""The reproduce-papers command: one file an experiment, named like it."""
