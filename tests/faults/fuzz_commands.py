"""Command lines by chance, made of the options that the commands have, and of what they read.

Options are taken from the commands themselves, so that a new one is fuzzed as soon as it exists.
Half of the values are plausible, so that many lines get beyond the checks of usage.
"""

import json
import re
from dataclasses import dataclass, field

import click
from hypothesis import strategies as st

from tests.apps.classify_images.test_pairs import VALUES
from visualwords.apps.classify_images.main import command as classify_images
from visualwords.apps.detect_pedestrians.main import command as detect_pedestrians

COMMANDS = {"classify-images": classify_images, "detect-pedestrians": detect_pedestrians}
# Demos take no input but flags, and minutes; the others run until they are interrupted.
LEFT_OUT = {
    ("classify-images", "demo"),
    ("classify-images", "watch"),
    ("classify-images", "studio"),
    ("detect-pedestrians", "demo"),
}

ODD = [
    *("", " ", "-", "--", "-1", "0", "1", "2", "3", "1.5", "0.5", "nan", "inf", "-inf", "1e400"),
    *("9" * 400, "4294967296", "-9223372036854775809", "0x10", "1_000", "٣", "1e-400"),
    *("a=b", "a:b=1", "=", ":", "sea=0.5", "sea:sand=2", "sea=nan", "[", "(", "{", "'", '"'),
    *("x" * 5000, "(" * 300, "[" * 300, "\udcff", "\x1b[2J", "=1+1", "\n", "\u202e", "ä", "☃"),
    *("None", "true", "()", "{}", "[]", "*", "?", "%s", "{0}", "\\", "$HOME", "~", ",", "a,b"),
]
PATHS = [
    *("photos", "photos/sea", "photos/sea/0.png", "two", "one", "empty", "missing", "m.vw"),
    *("cut.vw", "text.vw", "t.csv", "t.jsonl", "c.toml", "r.toml", "pipe", "loop", "/dev/null"),
    *("broken", "names", "m.vw/x", "/proc/version", "-", "pedestrian"),
]
OUTPUTS = [
    *("out.vw", "out.csv", "out.json", "out.npz", "out.html", "out.svg", "out.png", "out"),
    *("empty", "missing/out.vw", "pipe", "loop", "/proc/version", "link.vw", "m.vw", "out.mp4"),
    *("photos/sea/0.png", "out.toml", "out.parquet"),
]
ODD_OF = {  # by the name of the parameter, beside what `tests.apps.classify_images.test_pairs` has
    "recipe": ["tiny", "r.toml", "no-such"],
    "show": ["tiny", "r.toml", "no-such"],
    "features": ["ColorHistogram(bins=0)", "DenseSIFT(bin_size=[])", "HOG()()", "onnx:m.vw"],
    "settings": ["words.norm=none", "loss=hinge", "C=nan", "words=[]", "weight=-1", "words.x=1"],
    "vary": ["words=2,3", "kernel=hik,chi2", "words=", "a=1,2"],
    "thresholds": ["none=0.5", "sea=nan", "sea=0.5=0.5"],
    "costs": ["sea:sea=1", "sea:none=1", "sea:sand=-1", "sea:sand=inf"],
    "label_from": ["(", "()", "(a+)+$", ".", "(x)?"],
    "memory": ["0", "1kB", "1e999GB", ".MB"],
}
ONLY = {  # never by chance: a large number is a long run that was asked for, a name is looked up
    "seeds": ["1", "2", "0", "-1"],
    "jobs": ["1", "2", "0", "100000"],
    "port": ["0"],
    "host": ["127.0.0.1", "::1", "1.2.3.4.5", "\udcff", ""],
    "scheduler": ["local:0", "local:-1", "local:x", "tcp://", "nonsense", ""],
    "cache_dir": ["cache", "missing/cache", "m.vw", "/proc/cache", "loop", "ftp://x/y", "no://x"],
    "config": ["c.toml", "c.toml", "pipe", "missing", "/dev/zero", "photos"],
}
READS = ("folder", "model", "images", "image", "target", "test", "sources", "photos", "positives")
ENVIRONMENT = [
    *[("COLUMNS", width) for width in ("0", "-5", "x", "1", "100000")],
    *[("TERM", name) for name in ("dumb", "", "xterm-256color", "\udcff")],
    *[("LANG", "C"), ("LANG", "tr_TR.UTF-8"), ("TZ", "no/where"), ("TZ", "\udcff")],
    *[("NO_COLOR", "1"), ("FORCE_COLOR", "1"), ("TTY_INTERACTIVE", "x"), ("LINES", "0")],
    *[("XDG_CACHE_HOME", place) for place in ("cache", "/dev/null/x", "/proc/x", "\udcff")],
    *[("VISUALWORDS_DATA", "missing"), ("TMPDIR", "missing"), ("SOURCE_DATE_EPOCH", "x")],
]

GOOD = {  # files that commands read, before they are mutated
    "t.csv": "path,label,split,group\nphotos/sea/0.png,sea,train,a\ntwo/b/0.png,..,test,\n"
    "photos/sand/1.png,unknown,train,b\nmissing.png,=1,val,b\n\x1b[2J.png, ,other,\n",
    "t.jsonl": '{"file_name": "photos/sea/0.png", "label": "sea", "group": 1}\n'
    '{"file_name": "photos/sand/1.png", "label": "a/b", "split": "train"}\n'
    '{"file_name": "pipe", "label": null}\n{"file_name": "two/b/0.png", "label": 0.5}\n',
    "r.toml": 'name = "r"\nmax_side = 8\n[[channels]]\nextractor = "DenseSIFT"\n'
    "params = { step = 4 }\nwords = { n_words = 2, codebook = 'hik' }\nweight = 1.0\n"
    '[[channels]]\nextractor = "ColorHistogram"\nparams = { bins = 2 }\n'
    "[classifier]\nkind = 'icd'\nkernel = 'hik'\nC = 1.0\n",
}
TOML_VALUES = ["nan", "inf", "1.5", "true", "2020-01-01", "[]", "{}", "[[1], 2]", "''", "-1"]
environments = st.lists(st.sampled_from(ENVIRONMENT), max_size=2)
odd_text = st.one_of(st.sampled_from(ODD), st.text(max_size=12))


@dataclass
class Line:
    """One command with all that it can read."""

    command: str
    arguments: list[str]
    environment: dict[str, str]
    files: dict[str, bytes] = field(repr=False)


@st.composite
def lines(draw) -> Line:
    command = draw(st.sampled_from([*["classify-images"] * 8, "detect-pedestrians", *COMMANDS]))
    verb, words = draw(_verbs(COMMANDS[command], command))
    arguments = [] if verb is None else draw(_arguments(verb))
    if draw(st.integers(0, 9)) == 0:
        arguments.insert(draw(st.integers(0, len(arguments))), draw(_word(odd_text)))
    return Line(command, words + arguments, dict(draw(environments)), draw(_files(verb)))


@st.composite
def _verbs(draw, command, name):
    verb, words = command, []
    while isinstance(verb, click.Group):
        known = [v for v in verb.commands if (name, v) not in LEFT_OUT]
        if draw(st.integers(0, 29)) == 0:
            return None, [*words, draw(_word(odd_text))]
        words.append(draw(st.sampled_from(known)))
        verb = verb.commands[words[-1]]
    return verb, words


@st.composite
def _arguments(draw, verb):
    words = []
    for parameter in verb.params:
        if isinstance(parameter, click.Argument):
            n = draw(st.integers(0 if draw(st.integers(0, 9)) == 0 else 1, 2))
            n = n if parameter.nargs == -1 else min(n, 1)
            words += [draw(_values(parameter)) for _ in range(n)]
    options = [p for p in verb.params if isinstance(p, click.Option)]
    chosen = [p for p in options if p.required and draw(st.integers(0, 9))]
    chosen += draw(st.lists(st.sampled_from(options), max_size=4)) if options else []
    for option in chosen:
        name = draw(st.sampled_from([*option.opts, *option.secondary_opts]))
        words.append(name)
        if not option.is_flag:
            words.append(draw(_values(option)))
    return words


def _values(parameter):
    """A strategy for the values of a parameter."""
    name = parameter.name
    if name in ONLY:
        return st.sampled_from(ONLY[name])
    if name not in ODD_OF and isinstance(parameter.type, click.Path):
        return st.sampled_from(PATHS if name in READS else OUTPUTS)
    plausible = [*ODD_OF.get(name, []), *VALUES.get(name, [])]
    return _word(st.one_of(st.sampled_from(plausible), odd_text) if plausible else odd_text)


def _word(texts):
    """Texts that a shell can pass on: no zero bytes, surrogates only for undecodable bytes."""
    return texts.map(
        lambda text: "".join(c for c in text if c != "\0" and not "\ud800" <= c <= "\udc7f")
    ).filter(lambda text: not text.startswith("/") and ".." not in text)


@st.composite
def _files(draw, verb):
    written = draw(st.sampled_from(["utf-8", "utf-8", "utf-8", "utf-16", "latin-1"]))
    found = {name: draw(_mutated(text)) for name, text in GOOD.items()}
    found["c.toml"] = draw(_config_toml(verb)) if verb is not None else ""
    return {name: text.encode(written, "replace") for name, text in found.items()}


@st.composite
def _mutated(draw, text):
    """Draw a text with some words replaced, lines left out or doubled, or its end cut."""
    for _ in range(draw(st.integers(0, 3))):
        lines = text.split("\n")
        line = draw(st.integers(0, len(lines) - 1))
        kind = draw(st.sampled_from(["word", "word", "word", "lines", "cut", "ends"]))
        if kind == "word":
            words = re.split(r"(\W+)", lines[line])
            words[draw(st.integers(0, len(words) - 1))] = draw(odd_text)
            lines[line] = "".join(words)
        elif kind == "lines":
            lines[line : line + 1] = [lines[line]] * draw(st.sampled_from([0, 2]))
        text = ("\r" if kind == "ends" else "\n").join(lines)
        text = text[: draw(st.integers(0, len(text)))] if kind == "cut" else text
    return text


@st.composite
def _config_toml(draw, verb):
    lines = []
    for parameter in draw(st.lists(st.sampled_from(verb.params), max_size=3, unique=True)):
        name = max(parameter.opts, key=len).removeprefix("--")
        value = draw(st.one_of(_values(parameter).map(_quoted), st.sampled_from(TOML_VALUES)))
        if parameter.multiple and draw(st.booleans()):
            value = f"[{value}]"
        lines.append(f"{name} = {value}")
    return "\n".join(lines)


def _quoted(text):
    """A basic string of TOML; it may hold zero bytes, but no surrogates."""
    safe = json.dumps(text.encode("utf-8", "replace").decode())
    return safe.replace("\x7f", "\\u007f")
