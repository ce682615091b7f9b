"""``python -m visualwords.apps.classify_images``: the command where scripts are not on the path."""

from visualwords.apps.classify_images.main import console

if __name__ == "__main__":
    console()
