"""``python -m visualwords.apps.detect_pedestrians``, where scripts are not on the path."""

from visualwords.apps.detect_pedestrians.main import console

if __name__ == "__main__":
    console()
