"""A pytest plugin that takes from our code what Windows does not have: ``-p tests.windows_like``.

It can't prove that the project runs on Windows. It shows that nothing of ours imports a POSIX
module, uses a name that Windows lacks, renames or deletes a file that is still open, or writes
bytes to a descriptor that Windows would take for text.

- ``fcntl``, ``pwd``, ``resource``, ``termios`` and ``grp`` can't be imported by our modules.
- ``os`` and ``signal`` lose the names that only POSIX has, ``os.fork`` among them; new processes
  are spawned.
- Renaming, replacing and deleting refuse files that this process has open or mapped, also when a
  whole folder is deleted.
- A descriptor opened without ``os.O_BINARY`` turns every line feed that is written into two bytes.
"""

import builtins
import multiprocessing
import os
import signal
import stat

import pytest

POSIX_MODULES = frozenset(["fcntl", "pwd", "grp", "resource", "termios"])
POSIX_NAMES = {
    os: [
        *["O_NONBLOCK", "O_CLOEXEC", "O_NOFOLLOW", "mkfifo", "getpgid", "killpg", "setsid"],
        *["fork", "forkpty", "register_at_fork", "geteuid", "getegid", "fchmod", "chown", "nice"],
    ],
    signal: ["SIGKILL", "SIGHUP", "SIGUSR1", "SIGALRM", "pthread_sigmask", "setitimer", "alarm"],
}
IN_USE = PermissionError(13, "The process cannot access the file because it is being used")
O_BINARY = 0x40000000  # of no meaning to Linux

_import = builtins.__import__
_open, _write, _close = os.open, os.write, os.close
_remove, _replace, _rename = os.remove, os.replace, os.rename
_texts: set[int] = set()  # descriptors that Windows would treat as text


def _import_as_windows(name, globals=None, locals=None, fromlist=(), level=0):
    importer = (globals or {}).get("__name__", "")
    if name in POSIX_MODULES and importer.split(".")[0] == "visualwords":
        raise ImportError(f"No module named {name!r} (as on Windows)", name=name)
    return _import(name, globals, locals, fromlist, level)


def _is_in_use(path, folder=None):
    """Whether this process has a regular file open, or mapped into its memory."""
    try:
        status = os.stat(path, dir_fd=folder, follow_symlinks=False)
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
    if folder is not None:
        path = os.path.join(f"/proc/self/fd/{folder}", os.fsdecode(path))
    real = os.fsdecode(os.path.realpath(path))
    with open("/proc/self/maps", errors="surrogateescape") as maps:
        return any(line.rstrip("\n").endswith(real) for line in maps)


def _refusing(function, n_paths):
    def refuse(*args, **kwargs):
        if any(_is_in_use(path, kwargs.get("dir_fd")) for path in args[:n_paths]):
            raise IN_USE
        return function(*args, **kwargs)

    return refuse


def _open_as_windows(path, flags, *args, **kwargs):
    descriptor = _open(path, flags & ~O_BINARY, *args, **kwargs)
    if not flags & O_BINARY and flags & (os.O_WRONLY | os.O_RDWR):
        _texts.add(descriptor)
    return descriptor


def _write_as_windows(descriptor, content):
    if descriptor in _texts:
        _write(descriptor, bytes(content).replace(b"\n", b"\r\n"))
        return len(content)
    return _write(descriptor, content)


def _close_as_windows(descriptor):
    _texts.discard(descriptor)
    _close(descriptor)


def pytest_configure(config):
    builtins.__import__ = _import_as_windows
    multiprocessing.set_start_method("spawn")
    for module, names in POSIX_NAMES.items():
        for name in names:
            if hasattr(module, name):
                delattr(module, name)
    os.O_BINARY, os.open = O_BINARY, _open_as_windows
    os.write, os.close = _write_as_windows, _close_as_windows
    # rmtree would delete by a descriptor of the folder, which Windows does not have
    os.remove = os.unlink = _refusing(_remove, 1)
    os.replace, os.rename = _refusing(_replace, 2), _refusing(_rename, 2)


@pytest.fixture(autouse=True)
def _posix_names_are_gone():
    """Fail, rather than pass for the wrong reason, where the names came back."""
    assert not any(hasattr(module, name) for module, names in POSIX_NAMES.items() for name in names)
