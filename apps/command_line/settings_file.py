"""Flags of a verb in a TOML file, and the command line that says the same."""

import os
import tomllib
from shlex import join
from typing import Any

import click

from visualwords.files import read_settings

CONFIG = "config"


def equivalent_command(ctx: click.Context | None = None) -> str:
    """Return the equivalent command line without a settings file.

    Flags at their defaults are left out.
    """
    ctx = ctx or click.get_current_context()
    flags: list[str] = []
    names: list[str] = []
    for parameter in ctx.command.params:
        value = ctx.params.get(parameter.name or "")
        if isinstance(parameter, click.Argument):
            names += [str(one) for one in (value if isinstance(value, tuple) else (value,))]
        elif parameter.name in ctx.params:
            flags += _flag(parameter, value)
    words = [*names, *flags]
    if any(name.startswith("-") for name in names):
        words = [*flags, "--", *names]
    return join([*ctx.command_path.split(), *words])


def _flag(option: click.Parameter, value: Any) -> list[str]:
    """Return the words of one option; none where it has its default."""
    if value is None or value == () or value == option.default:
        return []
    if value is False:
        return option.secondary_opts[:1]
    name = option.opts[0]
    if value is True:
        return [name]
    values = value if isinstance(value, tuple) else (value,)
    return [word for one in values for word in (name, _written(one))]


def _written(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def read_config(ctx: click.Context, path: str) -> None:
    """Take the defaults of a verb's flags from a TOML file."""
    try:
        found = tomllib.loads(read_settings(path).decode())
    except OSError as problem:
        raise click.UsageError(f"{path}: {(problem.strerror or str(problem)).lower()}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise click.UsageError(f"{path}: not a TOML file: {problem}") from None
    except RecursionError:
        raise click.UsageError(f"{path}: nested too deeply; settings are plain values") from None
    known = {_key(p): p for p in ctx.command.params if p.name not in (CONFIG, "help")}
    for key, value in found.items():
        if key not in known:
            raise click.UsageError(
                f"{path}: {ctx.command.name} has no setting {key!r}; it has "
                f"{', '.join(sorted(known))}"
            )
        _check_kind(path, key, value, known[key])
    # As text, numbers are converted like those of flags: 1.5 is refused where an integer is due.
    ctx.default_map = {known[key].name or "": _as_written(v) for key, v in found.items()}


def _key(parameter: click.Parameter) -> str:
    """Return the name of a flag without its dashes, or that of an argument."""
    long = [name for name in parameter.opts if name.startswith("--")]
    return long[0].removeprefix("--") if long else str(parameter.name)


def _as_written(value: Any) -> Any:
    if isinstance(value, list):
        return [str(one) for one in value]
    return value if isinstance(value, bool) else str(value)


def _check_kind(path: str, key: str, value: Any, parameter: click.Parameter) -> None:
    """Refuse values that the flag's own type would silently turn into text."""
    many = parameter.multiple or parameter.nargs == -1
    if getattr(parameter, "is_flag", False):
        wanted, right = "true or false", isinstance(value, bool)
    elif many:
        wanted, right = "a list", isinstance(value, list)
    else:
        wanted = "one value"
        right = isinstance(value, str | int | float) and not isinstance(value, bool)
    if not right:
        raise click.UsageError(f"{os.fspath(path)}: {key} is {value!r}; it must be {wanted}")
