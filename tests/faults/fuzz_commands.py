"""Command lines by chance, made of the options that the commands have, and of what they read.

Options are taken from the commands themselves, so that a new one is fuzzed as soon as it exists.
Half of the values are plausible, so that many lines get beyond the checks of usage.
"""

import json
from dataclasses import dataclass, field

import click
from hypothesis import strategies as st

from visualwords.apps.classify_images.main import command as classify_images
from visualwords.apps.detect_pedestrians.main import command as detect_pedestrians

COMMANDS = {
    "classify-images": classify_images,
    "detect-pedestrians": detect_pedestrians,
}
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
RECIPES = ["texture", "color", "tiny", "r.toml", "auto", "hog", "fast", "no-such"]
KERNELS = ["hik", "chi2", "gcs", "linear", "power_mean", "ngmm", "laplace", "pyramid_match", "rbf"]
FEATURES = [
    *("HOG", "Centrist", "ColorHistogram(bins=2)", "ColorHistogram(bins=0)", "HOG(cell_size=4)"),
    *("DenseSIFT(step=4)", "DenseSIFT(step=-1)", "DenseSIFT(bin_size=[])", "KeypointSIFT"),
    *("ColorHistogram(bins=2", "ColorHistogram(bins=[2])", "onnx:m.vw", "HOG(x=1)", "HOG()()"),
    *("ColorHistogram(space='no')", "ColorHistogram(bins=1e99)", "Centrist(layout='whole')"),
]
SETTINGS = [
    *("words.norm=none", "loss=hinge", "kernel=hik", "max_side=16", "C=0", "C=nan", "n_bins=0"),
    *("words=[]", "words.n_words=1", "words.pyramid=0", "channels=1", "weight=-1", "tol=0"),
    *("params.bins=1", "name=x", "classifier.kind=icd", "multi_class=crammer_singer", "words.x=1"),
]
VARIED = ["words=2,3", "kernel=hik,chi2", "C=1,2", "max_side=8,16", "C=1", "words=", "a=1,2"]
PLAUSIBLE = {  # by the name of the parameter
    "recipe": RECIPES,
    "show": RECIPES,
    "names": ["gcs-fig2", "no-such"],
    "features": FEATURES,
    "settings": SETTINGS,
    "vary": VARIED,
    "kernel": KERNELS,
    "codebook": ["kmeans", "hik", "kmeans-root", "median"],
    "solver": ["icd", "pmsvm", "kernel", "linear", "dual", "gram", "primal"],
    "fisher": ["1", "2", "0"],
    "words": ["1", "2", "3"],
    "pyramid": ["1", "8", "21", "31", "1x2", "0x0", "99x99", "1x"],
    "C": ["1", "0.01", "1e8", "inf"],
    "max_side": ["1", "8", "16", "999999999"],
    "budget": ["0", "1s", "1h"],
    "deadline": ["0", "1s", "1ms"],
    "memory": ["0", "1", "1kB", "1GB", "1e999GB", ".MB"],
    "test_size": ["0.01", "0.5", "0.99"],
    "min_confidence": ["0", "0.5", "1"],
    "thresholds": ["sea=0.5", "sea=0", "sand=1", "none=0.5", "sea=nan", "sea=0.5=0.5"],
    "costs": ["sea:sand=2", "sea:sea=1", "sea:none=1", "sea:sand=-1", "sea:sand=inf"],
    "unknown": ["0.05", "0.5", "0.999999"],
    "label_from": ["(.)", "(.+)_[0-9]+", "(", "()", "(?P<a>.)", "(a+)+$", ".", "(x)?"],
    "metric": ["accuracy", "macro", "no"],
    "label": ["sea", "sand", "no"],
    "host": ["127.0.0.1", "::1", "1.2.3.4.5", "\udcff", ""],
    "port": ["0"],
    "jobs": ["1", "2"],
    "folds": ["2", "3", "5", "1000000"],
    "scheduler": ["local:0", "local:-1", "local:x", "tcp://", "nonsense", ""],
    "cache_dir": ["cache", "missing/cache", "m.vw", "/proc/cache", "loop", "ftp://x/y", "no://x"],
}
# Never by chance: a large number is a long run that was asked for, a name is looked up.
ONLY_PLAUSIBLE = {"host", "port", "scheduler", "cache_dir", "names"}
BOUNDED = {"seeds": ["1", "2", "0", "-1"], "jobs": ["1", "2", "0", "100000"]}
READS = ("folder", "model", "images", "image", "target", "test", "sources", "photos", "positives")

ENVIRONMENT = {
    "COLUMNS": ["0", "-5", "x", "1", "100000"],
    "LINES": ["0", "x"],
    "TERM": ["dumb", "", "xterm-256color", "\udcff"],
    "NO_COLOR": ["1", ""],
    "FORCE_COLOR": ["1", ""],
    "TTY_INTERACTIVE": ["1", "x"],
    "LANG": ["C", "tr_TR.UTF-8", "no"],
    "TZ": ["UTC", "no/where", "\udcff"],
    "XDG_CACHE_HOME": ["cache", "/dev/null/x", "/proc/x", "\udcff"],
    "VISUALWORDS_DATA": ["", "missing", "photos"],
    "TMPDIR": ["missing", ""],
    "SOURCE_DATE_EPOCH": ["x", "-1"],
    "PYTHONHASHSEED": ["x"],
}

LABELS = ["sea", "sand", "", " ", "unknown", "=1", "a/b", "..", "\x1b[2J", "ä", "x" * 300, "0"]
COLUMNS = ["path", "label", "split", "group", "file_name", "filename", "", "path", "Label"]
IMAGES = ["photos/sea/0.png", "photos/sand/1.png", "two/b/0.png", "missing.png", "", "..", "pipe"]
SPLITS = ["train", "test", "val", "", "other", "TRAIN"]
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
    return Line(command, words + arguments, draw(_environments()), draw(_files(verb)))


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
    if name in BOUNDED:
        return st.sampled_from(BOUNDED[name])
    if name == "config":
        return st.sampled_from(["c.toml", "c.toml", "pipe", "missing", "/dev/zero", "photos"])
    plausible = PLAUSIBLE.get(name)
    if plausible is None and isinstance(parameter.type, click.Path):
        return st.sampled_from(PATHS if name in READS else OUTPUTS)
    if plausible is None and isinstance(parameter.type, click.Choice):
        plausible = list(parameter.type.choices)
    if plausible is not None and name in ONLY_PLAUSIBLE:
        return st.sampled_from(plausible)
    return _word(st.one_of(st.sampled_from(plausible), odd_text) if plausible else odd_text)


def _word(texts):
    """Texts that a shell can pass on: no zero bytes, surrogates only for undecodable bytes."""
    return texts.map(
        lambda text: "".join(c for c in text if c != "\0" and not "\ud800" <= c <= "\udc7f")
    ).filter(lambda text: not text.startswith("/") and ".." not in text)


def _environments():
    one = st.sampled_from(sorted(ENVIRONMENT)).flatmap(
        lambda name: st.tuples(st.just(name), st.sampled_from(ENVIRONMENT[name]))
    )
    return st.lists(one, max_size=2).map(dict)


@st.composite
def _files(draw, verb):
    written = draw(st.sampled_from(["utf-8", "utf-8", "utf-8", "utf-16", "latin-1"]))
    texts = {"t.csv": _csv, "t.jsonl": _jsonl, "r.toml": _recipe_toml}
    found = {name: draw(make()) for name, make in texts.items()}
    found["c.toml"] = draw(_config_toml(verb)) if verb is not None else ""
    return {name: text.encode(written, "replace") for name, text in found.items()}


@st.composite
def _csv(draw):
    names = draw(st.sampled_from([["path", "label"], ["path", "label", "split", "group"], None]))
    names = names or draw(st.lists(st.sampled_from(COLUMNS), max_size=4))
    separator = draw(st.sampled_from([",", ",", ",", ";", "\t"]))
    rows = draw(st.lists(st.tuples(*(_cell(name) for name in names)), max_size=8))
    lines = [separator.join(cells) for cells in [tuple(names), *rows]]
    return draw(st.sampled_from(["\n", "\r\n", "\r"])).join(lines)


@st.composite
def _jsonl(draw):
    value = st.one_of(odd_text, st.integers(), st.floats(), st.none(), st.booleans())
    row = st.fixed_dictionaries(
        {},
        optional={name: st.one_of(_cell(name), value) for name in COLUMNS if name},
    )
    rows = draw(st.lists(st.one_of(row, row, row, value), max_size=8))
    return "\n".join(json.dumps(row) for row in rows)


def _cell(name):
    known = {"path": IMAGES, "file_name": IMAGES, "filename": IMAGES, "split": SPLITS}
    return st.one_of(st.sampled_from(known.get(name, LABELS)), odd_text)


@st.composite
def _config_toml(draw, verb):
    lines = []
    for parameter in draw(st.lists(st.sampled_from(verb.params), max_size=3, unique=True)):
        name = max(parameter.opts, key=len).removeprefix("--")
        value = draw(st.one_of(_values(parameter).map(_quoted), _toml_values()))
        if parameter.multiple and draw(st.booleans()):
            value = f"[{value}]"
        lines.append(f"{name} = {value}")
    return "\n".join(lines)


@st.composite
def _recipe_toml(draw):
    channel = draw(
        st.sampled_from(
            [
                'extractor = "ColorHistogram"\nparams = { bins = 2 }',
                'extractor = "DenseSIFT"\nparams = { step = 4 }\nwords = { n_words = 2 }',
                'extractor = "HOG"',
                "",
            ]
        )
    )
    keys = ["name", "max_side", "weight", "extractor", "params", "words", "fisher", "sets", "x"]
    more = [f"{key} = {draw(_toml_values())}" for key in draw(st.lists(st.sampled_from(keys)))]
    keys = ["kind", "kernel", "C", "params", "x", "loss"]
    last = [f"{key} = {draw(_toml_values())}" for key in draw(st.lists(st.sampled_from(keys)))]
    head = draw(st.sampled_from(['name = "r"', "", "name = 1", "max_side = 8", "[[channels]]"]))
    table = draw(st.sampled_from(["[classifier]\nkind = 'icd'", "[classifier]", "[[classifier]]"]))
    return "\n".join([head, "[[channels]]", channel, *more, table, *last])


def _toml_values():
    plain = st.one_of(
        st.integers().map(str),
        st.sampled_from(["nan", "inf", "1.5", "true", "2020-01-01", "[]", "{}", "[[1], 2]", "''"]),
        st.sampled_from([*KERNELS, *RECIPES, "hik", "icd", "kmeans"]).map(_quoted),
        odd_text.map(_quoted),
    )
    table = st.tuples(st.sampled_from(["n_words", "codebook", "bins", "step", "x"]), plain)
    return st.one_of(plain, plain, table.map(lambda pair: f"{{ {pair[0]} = {pair[1]} }}"))


def _quoted(text):
    """Return a basic string of TOML; it may hold zero bytes, but no surrogates."""
    safe = json.dumps(text.encode("utf-8", "replace").decode())
    return safe.replace("\x7f", "\\u007f")
