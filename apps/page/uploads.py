"""Image files of a request: its body as it is, or the parts of a form."""

from typing import Any

from starlette.requests import Request

from visualwords.apps.page.refusals import RefusedError

MOST_FILES = 64  # of one request
FORM = "multipart/form-data"


def is_form(request: Request) -> bool:
    """Return whether the body is a form (``curl -F image=@photo.jpg``)."""
    return request.headers.get("content-type", "").lower().startswith(FORM)


def one_image(request: Request, body: bytes) -> bytes:
    """Return the image file of a request."""
    if not is_form(request):
        return body
    files = images_of(request, body)
    if len(files) != 1:
        sentence = f"the form has {len(files)} files; send one, or several to /api/predict/batch"
        raise RefusedError(400, sentence)
    return files[0][1]


def images_of(request: Request, body: bytes) -> list[tuple[str, bytes]]:
    """Return the names and contents of all files of a form."""
    from python_multipart.exceptions import FormParserError
    from python_multipart.multipart import MultipartParser, parse_options_header

    if not is_form(request):
        raise RefusedError(400, "send a form with files, such as curl -F image=@photo.jpg makes")
    boundary = parse_options_header(request.headers["content-type"])[1].get(b"boundary")
    if not boundary:
        raise RefusedError(400, "the form has no boundary between its parts")
    parts = _Parts()
    try:
        parser = MultipartParser(boundary, parts.callbacks())  # type: ignore[arg-type]
        parser.write(body)
        parser.finalize()
    except FormParserError:
        raise RefusedError(400, "the form can't be read; its parts are damaged") from None
    if not parts.is_complete:
        raise RefusedError(400, "the form ends too early")
    files = [(name, bytes(content)) for name, content in parts.files]
    if not files:
        raise RefusedError(400, "the form has no file; send one, such as curl -F image=@photo.jpg")
    return files


class _Parts:
    """Collects the files of a form; fields without a file name are ignored."""

    def __init__(self) -> None:
        self.files: list[tuple[str, bytearray]] = []
        self.is_complete = False
        self._header = bytearray()
        self._value = bytearray()
        self._disposition = b""
        self._content: bytearray | None = None

    def callbacks(self) -> dict[str, Any]:
        """Return what the parser calls."""
        return {
            "on_part_begin": self._begin,
            "on_header_field": lambda data, i, j: self._header.extend(data[i:j]),
            "on_header_value": lambda data, i, j: self._value.extend(data[i:j]),
            "on_header_end": self._end_header,
            "on_headers_finished": self._end_headers,
            "on_part_data": self._data,
            "on_end": self._end,
        }

    def _begin(self) -> None:
        self._disposition, self._content = b"", None

    def _end_header(self) -> None:
        if self._header.lower() == b"content-disposition":
            self._disposition = bytes(self._value)
        self._header.clear()
        self._value.clear()

    def _end_headers(self) -> None:
        from python_multipart.multipart import parse_options_header

        name = parse_options_header(self._disposition)[1].get(b"filename")
        if name is None:
            return
        if len(self.files) == MOST_FILES:
            raise RefusedError(413, f"the form has more than {MOST_FILES} files; send fewer")
        self._content = bytearray()
        self.files.append((name.decode("utf-8", "backslashreplace"), self._content))

    def _data(self, data: bytes, start: int, end: int) -> None:
        if self._content is not None:
            self._content.extend(data[start:end])

    def _end(self) -> None:
        self.is_complete = True
