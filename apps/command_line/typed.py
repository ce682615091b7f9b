"""Commands as this user can type them, for hints that name the next step."""

import os
import shlex
import shutil
import sys


def typed(command: str, *words: str) -> str:
    """Return a command line that runs in the user's shell, in the current folder.

    The name alone where the shell finds this installation's script, else the path of the script,
    else Python with the module.

    Examples
    --------
    >>> typed("classify-images", "predict", "m.vw", "two words.jpg").split("predict ")[1]
    "m.vw 'two words.jpg'"
    """
    return shlex.join([*_program(command), *words])


def _program(command: str) -> list[str]:
    folder = os.path.dirname(sys.executable)
    script = shutil.which(command, path=folder)
    if script is None:
        return [sys.executable, "-m", f"visualwords.apps.{command.replace('-', '_')}"]
    found = shutil.which(command)
    if found is not None and os.path.samefile(found, script):
        return [command]
    near = os.path.relpath(script)
    return [script if near.startswith(os.pardir) else near]
