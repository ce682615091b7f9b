"""The papers' experiments: one file an experiment, named like it."""
