"""``python -m visualwords.apps.reproduce_papers``: the command where it is not on the path."""

from visualwords.apps.reproduce_papers.main import console

if __name__ == "__main__":
    console()
