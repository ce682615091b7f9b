"""``python -m benchmarks.papers``"""

from benchmarks.papers.run import main

if __name__ == "__main__":
    raise SystemExit(main())
