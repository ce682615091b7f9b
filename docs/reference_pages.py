"""Pages of the site that are made from the code, written before it is built.

Python names come from ``__all__`` and their docstrings, commands from click and recipe files from
the recipes themselves, so that none of them can go stale.
"""

import dataclasses
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

PACKAGES = (
    "visualwords",
    "visualwords.features",
    "visualwords.codebook",
    "visualwords.classifiers",
    "visualwords.classifiers.kernels",
    "visualwords.images",
    "visualwords.folders",
    "visualwords.apps.pipeline.recipes",
)
COMMANDS = ("classify_images", "detect_pedestrians")
OUTSIDE = re.compile(r"\[([^]]+)\]\((?:\.\./)+((?!docs/)[\w./-]+)(?:#[^)]*)?\)")


def write(folder: Path) -> None:
    """Write all generated pages into a folder; those that stay as they were keep their dates."""
    pages = {
        "python.md": python_index(),
        **{_file_of(package): python_page(package) for package in PACKAGES},
        "commands.md": commands_page(),
        "recipe-files.md": recipes_page(),
    }
    folder.mkdir(exist_ok=True)
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def without_links_outside(app: Any, page: str, source: list[str]) -> None:
    """Name files of the repository that are not part of the site instead of linking to them."""
    folder = Path(app.srcdir) / Path(page).parent

    def mended(link: re.Match[str]) -> str:
        target = (folder / link[0].rsplit("](", 1)[1].rstrip(")").split("#")[0]).resolve()
        inside = target.is_relative_to(Path(app.srcdir).resolve())
        return link[0] if inside else f"{link[1]} (`{link[2]}` in the repository)"

    source[0] = OUTSIDE.sub(mended, source[0])


def is_routing(app: Any, what: str, name: str, found: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn adds to every estimator for its metadata routing."""
    return True if re.fullmatch(r"set_\w+_request", name) else None


def _file_of(package: str) -> str:
    return package.replace("visualwords.apps.pipeline.", "").replace(".", "-") + ".md"


def python_index() -> str:
    """Return the page that lists all public names with their first sentences."""
    parts = ["# Python reference", "Every public name, from its docstring."]
    for package in PACKAGES:
        module = importlib.import_module(package)
        parts.append(f"## [`{package}`]({_file_of(package)})\n\n{_first_line(module)}")
        rows = [
            f"| [`{name}`](#{_anchor(found)}) | {_first_line(found)} |"
            for name, found in public(module)
        ]
        parts.append("\n".join(["| name | what it is |", "|---|---|", *rows]))
    pages = "\n".join(_file_of(package).removesuffix(".md") for package in PACKAGES)
    parts.append(f"```{{toctree}}\n:hidden:\n\n{pages}\n```")
    return "\n\n".join(parts) + "\n"


def python_page(package: str) -> str:
    """Return the page of a package: autodoc and numpydoc render every public name."""
    module = importlib.import_module(package)
    parts = [f"# {package}", _first_line(module)]
    for name, found in public(module):
        kind = "autoclass" if inspect.isclass(found) else "autofunction"
        parts += [
            f"## {name}",
            f"```{{eval-rst}}\n.. {kind}:: {_anchor(found)}\n```",
        ]
    return "\n\n".join(parts) + "\n"


def public(module: Any) -> Iterator[tuple[str, Any]]:
    """Yield the public functions and classes of a package, or those defined in a module.

    What a package before it in `PACKAGES` has is left out: every name has one page.
    """
    earlier = PACKAGES[: PACKAGES.index(module.__name__)]
    shown = {name for package in earlier for name in _names(importlib.import_module(package))}
    for name in _names(module):
        found = getattr(module, name)
        ours = getattr(found, "__module__", "").startswith("visualwords")
        if callable(found) and ours and name not in shown:
            yield name, found


def _names(module: Any) -> list[str]:
    if hasattr(module, "__all__"):
        return list(module.__all__)
    return [
        name
        for name, found in vars(module).items()
        if not name.startswith("_") and getattr(found, "__module__", "") == module.__name__
    ]


def _anchor(found: Any) -> str:
    return f"{found.__module__}.{found.__qualname__}"


def _first_line(found: Any) -> str:
    return (found.__doc__ or "").strip().splitlines()[0].replace("|", "\\|")


def commands_page() -> str:
    """Return the page of all commands, from click's own descriptions."""
    parts = ["# Commands", "Made from the commands' own help. Exit codes are the same for all."]
    for name in COMMANDS:
        main = importlib.import_module(f"visualwords.apps.{name}.main")
        parts += list(_described(main.command, name.replace("_", "-"), None))
    return "\n\n".join(parts) + "\n"


def _described(command: Any, name: str, parent: Any) -> Iterator[str]:
    context = click.Context(command, info_name=name, parent=parent)
    level = "##" if parent is None else "###"
    yield f"{level} {context.command_path}"
    yield f"```text\n{context.get_usage()}\n```"
    yield _prose(command.help)
    yield _options(command, context)
    if isinstance(command, click.Group):
        for verb in command.list_commands(context):
            yield from _described(command.get_command(context, verb), verb, context)


def _prose(text: str | None) -> str:
    """Return a help text as Markdown; what click keeps as it is becomes a block."""
    parts = []
    for part in (text or "").split("\n\n"):
        if part.startswith("\b"):
            parts.append("```text\n" + part.removeprefix("\b").strip("\n") + "\n```")
        else:
            parts.append(_escaped(" ".join(part.split())))
    return "\n\n".join(parts)


def _options(command: Any, context: click.Context) -> str:
    records = [
        record
        for option in command.get_params(context)
        if (record := option.get_help_record(context)) is not None
    ]
    if not records:
        return ""
    rows = [f"| `{flags}` | {_escaped(text)} |" for flags, text in records]
    return "\n".join(["| option | meaning |", "|---|---|", *rows])


def _escaped(text: str) -> str:
    for character in ("\\", "|", "*", "_", "<", "[", "]"):
        text = text.replace(character, "\\" + character)
    return text.replace("\n", " ")


def recipes_page() -> str:
    """Return the page of recipe files: every table with its keys, and the built-in recipes."""
    from visualwords.apps.pipeline.recipe import Channel, Fisher, Hashes, MatchedSets, Recipe, Words
    from visualwords.apps.pipeline.recipes import RECIPES

    parts = [
        "# Recipe files",
        "A recipe is a TOML file, a Python value ([`Recipe`](python.md)) and a set of flags: the "
        "same thing three times. [Recipes](../recipes.md) is the guide; this page lists every key "
        'with its default. Where a default is None, the file says `"none"`.',
        "## The file",
        _keys(Recipe, without=("channels", "classifier", "classifier_params")),
        "A file may leave out `name` and `summary`. Then follow one or more tables `[[channels]]`, "
        "and one `[classifier]` with `kind` (`icd`, "
        "`pmsvm`, `kernel` or `linear`), `kernel`, `C` and `params`: the parameters of the "
        "classifier's [class](visualwords-classifiers.md).",
        "## [[channels]]",
        _keys(Channel, without=("words", "fisher", "sets", "hashes", "linear")),
        "At most one of the next three tables says what becomes of patches; `hashes` may follow. "
        "A file calls codebooks `kmeans`, `kmeans-root` (the default: of square roots) and `hik`.",
    ]
    for key, kind in {
        "words": Words,
        "fisher": Fisher,
        "sets": MatchedSets,
        "hashes": Hashes,
    }.items():
        parts += [f"## channels.{key}", _keys(kind, without=("codebook_params",))]
    parts.append("## Built-in recipes")
    for recipe in RECIPES.values():
        parts += [
            f"### {recipe.name}",
            f"{recipe.summary}.",
            f"```toml\n{recipe.to_toml().strip()}\n```",
        ]
    return "\n\n".join(parts) + "\n"


def _keys(kind: Any, without: tuple[str, ...]) -> str:
    """Return what a part of a recipe is, by its docstring, and a table of its fields."""
    rows = []
    for one in dataclasses.fields(kind):
        if one.name in without:
            continue
        if one.default_factory is not dataclasses.MISSING:
            default = f"`{one.default_factory()!r}`"
        else:
            default = "required" if one.default is dataclasses.MISSING else f"`{one.default!r}`"
        shown = one.type if isinstance(one.type, str) else getattr(one.type, "__name__", "")
        name = shown if shown and "|" not in shown else str(one.type)
        rows.append(f"| `{one.name}` | {_escaped(name.replace('typing.', ''))} | {default} |")
    prose = re.sub(r"``([^`]+)``", r"`\1`", inspect.getdoc(kind) or "")
    prose = re.sub(r"(?<!`)`visualwords[\w.]*\.(\w+)`", r"`\1`", prose)
    return "\n".join([prose, "", "| key | type | default |", "|---|---|---|", *rows])
