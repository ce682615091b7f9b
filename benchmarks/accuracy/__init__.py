"""Accuracy on real data: settings chosen on training images, the test images used once."""
