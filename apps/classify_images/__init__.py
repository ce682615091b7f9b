"""The classify-images command: one file a verb."""
