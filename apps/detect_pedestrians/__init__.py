"""The detect-pedestrians command: one file a verb."""
