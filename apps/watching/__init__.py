"""Following a folder: images are predicted as they arrive, each one once."""
