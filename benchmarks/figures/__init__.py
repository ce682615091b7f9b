"""Pictures of the documentation, drawn by the program."""
