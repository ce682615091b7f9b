"""What the code weighs: lines, modules, import circles, wide functions.

    python -m benchmarks.weight [FOLDER …]

A code line is neither blank, comment nor docstring. A module is a file beside ``__init__.py``; it
is single if exactly one other module imports it. Imports inside functions count. A function is wide
with more than eight positional parameters. A line of instructions belongs to a function that builds
them for the compiler: one with a parameter ``builder``, or an intrinsic.
"""

import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

FOLDERS = {
    "vision": "visualwords",
    **{name: f"visualwords.{name}" for name in ("features", "codebook", "classifiers", "apps")},
}
WIDE = 8
LAYOUT = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE),
    *(tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
}
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Source:
    """A Python file, its syntax tree and its lines of code."""

    def __init__(self, path: Path) -> None:
        self.text = path.read_text(encoding="utf-8")
        self.tree = ast.parse(self.text)
        self.nodes = list(ast.walk(self.tree))
        self.code = self._lines_with_tokens() - self._docstring_lines()

    def _lines_with_tokens(self) -> set[int]:
        tokens = tokenize.generate_tokens(io.StringIO(self.text).readline)
        return {
            line
            for token in tokens
            if token.type not in LAYOUT
            for line in range(token.start[0], token.end[0] + 1)
        }

    def _docstring_lines(self) -> set[int]:
        lines: set[int] = set()
        for node in self.nodes:
            if isinstance(node, ast.Module | ast.ClassDef | Function) and ast.get_docstring(node):
                lines.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
        return lines

    def functions(self) -> Iterator[Function]:
        return (node for node in self.nodes if isinstance(node, Function))

    def instruction_lines(self) -> int:
        lines: set[int] = set()
        for function in self.functions():
            marks = " ".join(map(ast.unparse, function.decorator_list))
            if "builder" in _positional(function) or "intrinsic" in marks:
                lines.update(range(function.lineno, (function.end_lineno or 0) + 1))
        return len(lines & self.code)

    def imports(self, modules: set[str]) -> set[str]:
        """The modules that this one imports at run time, also inside functions."""
        typing_only: set[ast.AST] = set()
        for node in self.nodes:
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                typing_only.update(ast.walk(node))
        names = set()
        for node in self.nodes:
            if node in typing_only:
                continue
            if isinstance(node, ast.Import):
                names.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                whole = {f"{node.module}.{alias.name}" for alias in node.names}
                names |= whole & modules or {node.module}
                if whole - modules:
                    names.add(node.module)
        return names & modules


def _positional(function: Function) -> list[str]:
    arguments = [*function.args.posonlyargs, *function.args.args]
    return [argument.arg for argument in arguments if argument.arg not in ("self", "cls")]


def code_lines(folder: Path) -> int:
    return sum(len(Source(path).code) for path in folder.rglob("*.py"))


def circles(root: Path) -> list[list[str]]:
    """The groups of modules that import each other in a circle."""
    graph = _import_graph(_sources(root))
    reach = {module: _reachable(module, graph) for module in graph}
    groups = {
        tuple(sorted(other for other in reach[module] if module in reach[other]))
        for module in graph
        if module in reach[module]
    }
    return sorted(map(list, groups))


def _reachable(start: str, graph: dict[str, set[str]]) -> set[str]:
    reached: set[str] = set()
    waiting = [*graph[start]]
    while waiting:
        module = waiting.pop()
        if module not in reached:
            reached.add(module)
            waiting += graph[module]
    return reached


def _import_graph(sources: dict[str, Source]) -> dict[str, set[str]]:
    modules = set(sources)
    return {
        name: source.imports(modules) - {name, "visualwords"} for name, source in sources.items()
    }


def _sources(root: Path) -> dict[str, Source]:
    """Every module of the five folders by its import name."""
    return {
        ".".join([package, *path.relative_to(root / folder).with_suffix("").parts]).removesuffix(
            ".__init__"
        ): Source(path)
        for folder, package in FOLDERS.items()
        for path in sorted((root / folder).rglob("*.py"))
    }


def weigh(root: Path) -> dict[str, int]:
    """The weight of a checkout by name of the measure."""
    weight: dict[str, int] = {}
    for folder in FOLDERS:
        weight[f"code lines of {folder}"] = code_lines(root / folder)
    sources = _sources(root)
    packages = {name for name in sources if any(other.startswith(name + ".") for other in sources)}
    graph = _import_graph(sources)
    importers = Counter(name for imported in graph.values() for name in imported)
    weight |= {
        "code lines": sum(weight.values()),
        "modules": len(sources.keys() - packages),
        "modules with one importer": sum(importers[name] == 1 for name in graph.keys() - packages),
        "modules in circles": sum(map(len, circles(root))),
        "wide functions": sum(
            len(_positional(function)) > WIDE
            for source in sources.values()
            for function in source.functions()
        ),
        "lines of instructions": sum(source.instruction_lines() for source in sources.values()),
        "Any": sum(
            len(re.findall(r"\bAny\b", source.text))
            - len(re.findall(r"^from typing import.*\bAny\b", source.text, re.M))
            for source in sources.values()
        ),
        "code lines of tests": code_lines(root / "tests"),
        "code lines of benchmarks": code_lines(root / "benchmarks"),
        "words of documents": sum(
            len(page.read_text(encoding="utf-8").split())
            for page in [*root.glob("docs/**/*.md"), *map(root.joinpath, PAGES)]
            if page.exists()
        ),
    }
    return weight


PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")


def main() -> None:
    root = Path(__file__).resolve().parents[1]
    if sys.argv[1:]:
        for folder in map(Path, sys.argv[1:]):
            modules = sum(path.name != "__init__.py" for path in folder.rglob("*.py"))
            print(f"{code_lines(folder):7,} code lines in {modules} modules  {folder}")
        return
    for name, value in weigh(root).items():
        print(f"{value:7,}  {name}")
    for circle in circles(root):
        print("circle:", ", ".join(circle))


if __name__ == "__main__":
    main()
