"""The classes of commands and verbs: suggestions, settings files, the equivalent command line."""

import os
from typing import Any, NoReturn

import click

CONFIG = "config"


class VerbGroup(click.Group):
    """A command; a mistyped verb gets the nearest ones as a suggestion."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Return the verb that the first argument names."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            self.fail_unknown(ctx, args[0])
        return super().resolve_command(ctx, args)

    def fail_unknown(self, ctx: click.Context, name: str, what: str = "verb") -> NoReturn:
        """Fail with the verbs that are spelled alike, or with all of them."""
        from difflib import get_close_matches

        near = get_close_matches(name, self.commands)
        every = ", ".join(self.commands)
        hint = f"did you mean {' or '.join(near)}?" if near else f"choose from {every}"
        ctx.fail(f"no {what} {name!r}; {hint}")


class Verb(click.Command):
    """A verb that takes its settings from the command line, else from ``--config F.toml``.

    The keys of the file are the names of the flags without the dashes, and those of the
    arguments. Flags on the command line override the file. Relative paths are relative to the
    current folder, as on the command line.
    """

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.params.append(
            click.Option(
                ["--config"],
                type=click.Path(dir_okay=False),
                metavar="F.toml",
                is_eager=True,
                expose_value=False,
                callback=_read_config,
                help="Read flags from a TOML file; flags on the command line override it.",
            )
        )

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb; print the equivalent command if settings came from a file."""
        if ctx.default_map:
            from visualwords.apps.command_line.terminal import say

            say(f"equivalent command: {equivalent_command(ctx)}")
        return super().invoke(ctx)


def equivalent_command(ctx: click.Context | None = None) -> str:
    """Return the equivalent command line without a settings file.

    Flags at their defaults are left out.
    """
    from shlex import join

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


def _read_config(ctx: click.Context, _: click.Parameter, path: str | None) -> None:
    if path is None:
        return
    import tomllib

    from visualwords.files import read_settings

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
