"""Reference pages made from the code, so that they cannot go stale.

    python docs/reference_pages.py        commands.md, recipes.md and python.md, which are committed

Commands come from click, recipe files from the recipes themselves, and Python names from
``__all__``. The site also gets a page for each package in ``reference/api``, from docstrings.
"""

import collections
import copy
import dataclasses
import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import click

PACKAGES = (
    "visualwords",
    "visualwords.features",
    "visualwords.codebook",
    "visualwords.classifiers",
    "visualwords.classifiers.kernels",
    "visualwords.images",
    "visualwords.folders",
)
COMMANDS = ("classify_images", "detect_pedestrians")
TABLES = {  # of a channel in a recipe's file, and their classes
    "words": "Words",
    "fisher": "Fisher",
    "second_order": "SecondOrder",
    "sets": "MatchedSets",
    "hashes": "Hashes",
}
SHARED = 2  # an option with one text in so many commands is described once, before them
WIDTH = 110
RANGE = re.compile(r"; [-\d.<>=]*x[-\d.<>=]*(?=\])| \[[-\d.<>=]*x[-\d.<>=]*\]")  # of values
OUTSIDE = re.compile(r"\[([^]]+)\]\((?:\.\./)+((?!docs/)[\w./-]+)(?:#[^)]*)?\)")


def pages() -> dict[str, str]:
    """The committed pages, by name."""
    made = {
        "commands.md": commands_page(),
        "recipes.md": recipes_page(),
        "python.md": python_index(),
    }
    return {name: _wrapped_paragraphs(text) for name, text in made.items()}


def write(folder: Path) -> None:
    """Write all generated pages into a folder; unchanged ones keep their dates."""
    made = pages() | {f"api/{package}.md": python_page(package) for package in PACKAGES}
    for name, text in made.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
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


def python_index() -> str:
    """The page that lists all public names."""
    parts = [
        "# Python",
        "Every public name. The documentation site has a page for each package, with all "
        "parameters; `help(name)` prints the same. Kernels and their formulas are in "
        "[parts](parts.md#kernels).",
    ]
    items = []
    for package in PACKAGES:
        names = ", ".join(f"`{name}`" for name, _ in public(importlib.import_module(package)))
        items.append(f"- **`{package}`**: {names}")
    parts.append("\n".join(items))
    listed = "\n".join(f"api/{package}" for package in PACKAGES)
    parts.append(f"```{{toctree}}\n:hidden:\n\n{listed}\n```")
    return "\n\n".join(parts) + "\n"


def python_page(package: str) -> str:
    """The page of a package: autodoc and numpydoc render every public name."""
    module = importlib.import_module(package)
    parts = [f"# {package}", (module.__doc__ or "").strip().splitlines()[0]]
    for name, found in public(module):
        kind = "autoclass" if inspect.isclass(found) else "autofunction"
        place = f"{found.__module__}.{found.__qualname__}"
        parts += [f"## {name}", f"```{{eval-rst}}\n.. {kind}:: {place}\n```"]
    return "\n\n".join(parts) + "\n"


def public(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Public functions and classes of a package, but those of packages before it."""
    earlier = PACKAGES[: PACKAGES.index(module.__name__)]
    shown = {name for package in earlier for name in _names(importlib.import_module(package))}
    for name in _names(module):
        found = getattr(module, name)
        ours = getattr(found, "__module__", "").startswith("visualwords")
        if callable(found) and ours and name not in shown:
            yield name, found


def _names(module: ModuleType) -> list[str]:
    if hasattr(module, "__all__"):
        return list(module.__all__)
    return [
        name
        for name, found in vars(module).items()
        if not name.startswith("_") and getattr(found, "__module__", "") == module.__name__
    ]


class Record(NamedTuple):
    """An option as the help shows it."""

    flags: str
    text: str

    @property
    def name(self) -> str:
        names = re.findall(r"(?<!\w)--?[a-zA-Z][\w-]*", self.flags)
        return f"`{max(names, key=len)}`"


def commands_page() -> str:
    """The page of all commands, from click's own descriptions."""
    described = []
    for name in COMMANDS:
        command = importlib.import_module(f"visualwords.apps.{name}.main").command
        described += _commands(command, click.Context(command, info_name=name.replace("_", "-")))
    shared = _shared_options([context for _, context in described])
    parts = [
        "# Commands",
        "Made from the commands' own help by `python docs/reference_pages.py`. `visualwords` is "
        "another name of `classify-images`. All have the same [exit codes](files.md#exit-codes).",
        "## Shared options",
        "Options of several commands, in the groups of `--help-all`.",
    ]
    for title, records in shared.items():
        parts += [f"### {title}", _options(records)]
    for command, context in described:
        records = [record for record, _ in _records(context)]
        own = [one for one in records if not any(one in group for group in shared.values())]
        also = [_of_group(title, group, records) for title, group in shared.items()]
        arguments = command.collect_usage_pieces(context)[1:]  # without [OPTIONS]
        parts.append(f"## {' '.join([context.command_path, *arguments])}")
        parts.append(_prose(command.help))
        parts += [_options(own)] if own else []
        parts += [f"Also {', '.join(filter(None, also))}."] if any(also) else []
    return "\n\n".join(parts) + "\n"


def _shared_options(contexts: list[click.Context]) -> dict[str, list[Record]]:
    """Options that several commands have, by the title of the group that most show them in."""
    titles: dict[Record, collections.Counter[str]] = {}
    for context in contexts:
        for record, title in _records(context):
            titles.setdefault(record, collections.Counter())[title] += 1
    shared: dict[str, list[Record]] = {}
    for record, counts in titles.items():
        if counts.total() >= SHARED:
            shared.setdefault(counts.most_common(1)[0][0], []).append(record)
    return shared


def _of_group(title: str, group: list[Record], records: list[Record]) -> str:
    """Which shared options of a group a command has: their names, or nearly all of the group."""
    names = [one.name for one in group if one in records]
    missing = [one.name for one in group if one not in records]
    if len(missing) > 1 or len(group) < 4:
        return ", ".join(names)
    link = f"all of [{title}](#{title.lower().replace(' ', '-')})"
    return f"{link} but {missing[0]}" if missing else link


def _commands(
    command: click.Command, context: click.Context
) -> Iterator[tuple[click.Command, click.Context]]:
    yield command, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _commands(inner, click.Context(inner, info_name=name, parent=context))


def _records(context: click.Context) -> list[tuple[Record, str]]:
    """A command's options, also those that only --help-all shows, and the titles of groups."""
    found = []
    for option in context.command.get_params(context):
        if isinstance(option, click.Option) and "help" not in str(option.name).split("_"):
            option = copy.copy(option)
            option.hidden = False
            record = option.get_help_record(context)
            if record is not None:
                flags, text = record
                title = getattr(option, "panel", None) or "Basics"
                found.append((Record(flags, RANGE.sub("", text)), title))
    return found


def _prose(text: str | None) -> str:
    """A help text as Markdown; what click keeps as it is becomes a block."""
    parts = []
    for part in inspect.cleandoc(text or "").split("\n\n"):
        if part.startswith("\b"):
            parts.append("```text\n" + part.removeprefix("\b").strip("\n") + "\n```")
        else:
            parts.append(_escaped(" ".join(part.split())))
    return "\n\n".join(parts)


def _options(records: list[Record]) -> str:
    return "\n".join(f"- `{one.flags}`: {_escaped(one.text)}" for one in records)


def _wrapped_paragraphs(page: str) -> str:
    """A page whose paragraphs and items keep to the width; blocks and tables stay as they are."""
    parts = re.split(r"(^```.*?^```$)", page, flags=re.S | re.M)
    for k in range(0, len(parts), 2):
        parts[k] = "\n\n".join(
            one if one.lstrip("\n")[:1] in ("|", "#") else _filled(one)
            for one in parts[k].split("\n\n")
        )
    return "".join(parts)


def _filled(paragraph: str) -> str:
    if paragraph.startswith("- "):
        return "\n".join(_fill(item, "  ") for item in paragraph.split("\n"))
    long = max(map(len, paragraph.split("\n"))) > WIDTH
    return _fill(paragraph, "") if long else paragraph


def _fill(text: str, hang: str) -> str:
    return textwrap.fill(
        text, WIDTH, subsequent_indent=hang, break_long_words=False, break_on_hyphens=False
    )


def _escaped(text: str) -> str:
    for character in ("\\", "|", "*", "_", "<", "[", "]"):
        text = text.replace(character, "\\" + character)
    return " ".join(text.split())


def recipes_page() -> str:
    """The page of recipe files: every table with its keys, and the built-in recipes."""
    from visualwords.apps.pipeline.recipes import RECIPES, Channel, Recipe

    schema = importlib.import_module(Channel.__module__)
    parts = [
        "# Recipes",
        'The keys of a recipe, with their defaults; in a file None is `"none"`. [Choose a '
        "recipe](../how-to/choose-a-recipe.md) is the guide.",
        "## The file",
        _keys(Recipe, without=("channels", "classifier", "classifier_params")),
        "`name` and `summary` may be left out. Then follow one or more tables `[[channels]]`, "
        "and one `[classifier]` with `kind` (`icd`, `pmsvm`, `kernel` or `linear`), `kernel`, `C` "
        "and `params`: the parameters of the [classifier](parts.md#classifiers).",
        "## [[channels]]",
        _keys(Channel, without=(*TABLES, "linear")),
        "At most one of the next tables says what becomes of patches; `hashes` may follow. "
        "A file calls codebooks `kmeans`, `kmeans-root` (the default: of square roots) and `hik`.",
    ]
    for key, name in TABLES.items():
        parts += [f"## channels.{key}", _keys(getattr(schema, name), without=("codebook_params",))]
    parts.append("## Built-in recipes")
    parts.append("`classify-images recipes --show NAME` prints one as a file to change.")
    parts.append("\n".join(f"- `{one.name}`: {one.summary}." for one in RECIPES.values()))
    return "\n\n".join(parts) + "\n"


def _keys(kind: Any, without: tuple[str, ...]) -> str:
    """What a part of a recipe is, by its docstring, and a table of its fields."""
    rows = []
    for one in dataclasses.fields(kind):
        if one.name in without:
            continue
        if one.default_factory is not dataclasses.MISSING:
            default = f"`{one.default_factory()!r}`"
        else:
            default = "required" if one.default is dataclasses.MISSING else f"`{one.default!r}`"
        about = _escaped(one.metadata.get("help", ""))
        rows.append(f"| `{one.name}` | {default} | {about}".rstrip(" |") + " |")
    prose = re.sub(r"``([^`]+)``", r"`\1`", inspect.getdoc(kind) or "")
    prose = re.sub(r"(?<!`)`visualwords[\w.]*\.(\w+)`", r"`\1`", prose)
    has_help = any(row.count("|") > 3 for row in rows)
    head = (
        ["| key | default | |", "|---|---|---|"] if has_help else ["| key | default |", "|---|---|"]
    )
    return "\n".join([prose, "", *head, *rows])


if __name__ == "__main__":
    for name, text in pages().items():
        Path(__file__).with_name("reference").joinpath(name).write_text(text, encoding="utf-8")
