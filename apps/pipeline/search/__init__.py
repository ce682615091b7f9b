"""What "auto" does: which recipes it tries, on how many images, and which it keeps."""
