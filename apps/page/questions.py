"""What a request asks for: its parameters, and the image files of its body."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass

from starlette.datastructures import QueryParams, UploadFile
from starlette.requests import Request

from visualwords.apps.page.guards import RefusedError

MOST_CLASSES = 99_999
MOST_FILES = 64  # of one request
FORM = "multipart/form-data"


@dataclass(frozen=True)
class Question:
    """Parameters of a prediction, checked before the image is worked on.

    Attributes
    ----------
    top : how many classes an answer has
    least : the lowest confidence of boxes (detectors); None for the model's own
    min_confidence : the probability below which the label is "unknown"
    unknown : the share of known images that may be "unknown"; None for the model's own
    thresholds : classes, and the probability from which each is the label
    """

    top: int = 5
    least: float | None = None
    min_confidence: float = 0.0
    unknown: float | None = None
    thresholds: tuple[tuple[str, float], ...] = ()

    @classmethod
    def of(cls, parameters: QueryParams) -> "Question":
        """Read the query of a request."""
        return cls(
            _top(parameters.get("top", "5")),
            _share(parameters, "least", "the lowest confidence of boxes"),
            _share(parameters, "min_confidence", "the lowest probability of a label") or 0.0,
            _share(parameters, "unknown", "the share of known images that may be unknown"),
            tuple(_threshold(text) for text in parameters.getlist("threshold")),
        )


def _top(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 6 and int(text)):
        sentence = f"top is the number of classes to return; give a number from 1 to {MOST_CLASSES}"
        raise RefusedError(400, sentence)
    return int(text)


def _share(parameters: QueryParams, name: str, meaning: str) -> float | None:
    text = parameters.get(name)
    if text is None:
        return None
    found = _number(text)
    if not 0 < found < 1:
        raise RefusedError(400, f"{name} is {meaning}; give a number between 0 and 1")
    return found


def _threshold(text: str) -> tuple[str, float]:
    label, _, number = text.rpartition(":")
    found = _number(number)
    if not label or not 0 <= found <= 1:
        sentence = "threshold is a class and a probability from 0 to 1, such as defect:0.2"
        raise RefusedError(400, sentence)
    return label, found


def _number(text: str) -> float:
    """A plain decimal number; −1 for any other text."""
    plain = text.isascii() and len(text) <= 8 and text.replace(".", "", 1).isdecimal()
    return float(text) if plain else -1.0


async def one_image(request: Request, body: bytes) -> bytes:
    """The image file of a request: its body, or the file of a form."""
    if not _is_form(request):
        return body
    files = await images_of(request, body)
    if len(files) != 1:
        sentence = f"the form has {len(files)} files; send one, or several to /api/predict/batch"
        raise RefusedError(400, sentence)
    return files[0][1]


async def images_of(request: Request, body: bytes) -> list[tuple[str, bytes]]:
    """The names and contents of all files of a form."""
    from starlette.formparsers import MultiPartException, MultiPartParser

    if not _is_form(request):
        raise RefusedError(400, "send a form with files, such as curl -F image=@photo.jpg makes")
    if not body.rstrip().endswith(b"--"):
        raise RefusedError(400, "the form ends too early")

    async def arriving() -> AsyncGenerator[bytes, None]:
        yield body

    parser = MultiPartParser(request.headers, arriving(), max_files=MOST_FILES)
    parser.spool_max_size = len(body) + 1  # it is in memory already: nothing goes to the disk
    try:
        form = await parser.parse()
    except (KeyError, MultiPartException) as problem:
        if "Too many files" in str(problem):
            sentence = f"the form has more than {MOST_FILES} files; send fewer"
            raise RefusedError(413, sentence) from None
        raise RefusedError(400, "the form can't be read; its parts are damaged") from None
    parts = [part for _, part in form.multi_items() if isinstance(part, UploadFile)]
    files = [(part.filename or "", await part.read()) for part in parts]
    await form.close()
    if not files:
        raise RefusedError(400, "the form has no file; send one, such as curl -F image=@photo.jpg")
    return files


def _is_form(request: Request) -> bool:
    return request.headers.get("content-type", "").lower().startswith(FORM)
