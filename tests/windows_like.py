"""A pytest plugin that takes from our code what Windows does not have: ``-p tests.windows_like``.

It can't prove that the project runs on Windows. It shows that nothing of ours imports a POSIX
module, uses a constant that Windows lacks, or renames or deletes a file that is still open.

- ``fcntl``, ``pwd``, ``resource``, ``termios`` and ``grp`` can't be imported by our modules.
- ``os`` and ``signal`` lose the names that only POSIX has.
- Renaming, replacing and deleting refuse files that this process has open or mapped.
"""

import builtins
import os
import signal
import stat

import pytest

POSIX_MODULES = frozenset(["fcntl", "pwd", "grp", "resource", "termios"])
POSIX_NAMES = {
    os: ["O_NONBLOCK", "O_CLOEXEC", "O_NOFOLLOW", "mkfifo", "getpgid"],
    signal: ["SIGKILL", "SIGHUP", "SIGUSR1", "pthread_sigmask"],
}
IN_USE = PermissionError(13, "The process cannot access the file because it is being used")

_import = builtins.__import__
_remove, _replace, _rename = os.remove, os.replace, os.rename


def _import_as_windows(name, globals=None, locals=None, fromlist=(), level=0):
    importer = (globals or {}).get("__name__", "")
    if name in POSIX_MODULES and importer.split(".")[0] == "visualwords":
        raise ImportError(f"No module named {name!r} (as on Windows)", name=name)
    return _import(name, globals, locals, fromlist, level)


def _is_in_use(path):
    """Return whether this process has a regular file open, or mapped into its memory."""
    try:
        status = os.stat(path, follow_symlinks=False)
    except (OSError, TypeError, ValueError):
        return False
    if not stat.S_ISREG(status.st_mode):
        return False
    for number in os.listdir("/proc/self/fd"):
        try:
            found = os.fstat(int(number))
        except OSError:
            continue
        if (found.st_dev, found.st_ino) == (status.st_dev, status.st_ino):
            return True
    real = os.fsdecode(os.path.realpath(path))
    with open("/proc/self/maps", errors="surrogateescape") as maps:
        return any(line.rstrip("\n").endswith(real) for line in maps)


def _refusing(function, n_paths):
    def refuse(*args, **kwargs):
        if not kwargs.get("dir_fd") and any(_is_in_use(path) for path in args[:n_paths]):
            raise IN_USE
        return function(*args, **kwargs)

    return refuse


def pytest_configure(config):
    builtins.__import__ = _import_as_windows
    for module, names in POSIX_NAMES.items():
        for name in names:
            if hasattr(module, name):
                delattr(module, name)
    os.remove = os.unlink = _refusing(_remove, 1)
    os.replace, os.rename = _refusing(_replace, 2), _refusing(_rename, 2)


@pytest.fixture(autouse=True)
def _posix_names_are_gone():
    """Fail, rather than pass for the wrong reason, where the names came back."""
    assert not any(hasattr(module, name) for module, names in POSIX_NAMES.items() for name in names)
