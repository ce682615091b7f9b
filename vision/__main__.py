"""``python -m visualwords``: the command ``classify-images``, where scripts are not on the path."""

from importlib import import_module

if __name__ == "__main__":
    import_module("visualwords.apps.classify_images.main").console()
