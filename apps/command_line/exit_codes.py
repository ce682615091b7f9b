"""Exit codes of all commands."""

DONE = 0
FAILED = 1
USAGE = 2
SKIPPED = 3
BAD_MODEL = 4
UNEXPECTED = 70  # EX_SOFTWARE of sysexits.h
INTERRUPTED = 130  # 128 + SIGINT, as shells report it

HELP = (
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 done but some input was skipped, "
    "4 not a usable model file, 70 unexpected error (--debug adds details), 130 interrupted."
)
