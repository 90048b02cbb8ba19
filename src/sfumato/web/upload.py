"""Uploads: a file that a form sends, kept as it comes, whole or not at all.

Stands apart: the form of an upload is read piece by piece; no page keeps it in memory.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from urllib.parse import urlencode

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from sfumato.errors import InputError
from sfumato.web.bench import bench_of
from sfumato.web.folder import Folder

UPLOAD = "/data/upload"
LARGEST_UPLOAD = 4 << 30  # bytes
_MALFORMED = "the upload is malformed; nothing was kept, send it again from the page"


class _Parts:
    """What a parser says of a form, until the first file: its name, then its pieces."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.name: str | None = None
        self.over = False
        self._inside = False
        self._header = bytearray()
        self._value = bytearray()
        self._headers: dict[bytes, bytes] = {}

    def callbacks(self) -> dict[str, object]:
        return {
            "on_part_begin": self._headers.clear,
            "on_header_field": self._on_field,
            "on_header_value": self._on_value,
            "on_header_end": self._on_header_end,
            "on_headers_finished": self._on_headers,
            "on_part_data": self._on_data,
            "on_part_end": self._on_part_end,
        }

    def _on_field(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _on_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _on_header_end(self) -> None:
        self._headers[bytes(self._header).lower()] = bytes(self._value)
        self._header.clear()
        self._value.clear()

    def _on_headers(self) -> None:
        _, options = parse_options_header(self._headers.get(b"content-disposition", b""))
        if b"filename" in options and self.name is None:
            self.name = options[b"filename"].decode("utf-8", "replace")
            self._inside = True

    def _on_data(self, data: bytes, start: int, end: int) -> None:
        if self._inside and end > start:
            self.pieces.append(data[start:end])

    def _on_part_end(self) -> None:
        if self._inside:
            self._inside, self.over = False, True


async def keep_upload(request: Request, folder: Folder, limit: int = LARGEST_UPLOAD) -> str:
    """Keep the first file of an upload's form; the name it has from now on."""
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    boundary = options.get(b"boundary")
    if kind != b"multipart/form-data" or not boundary:
        raise InputError(_MALFORMED)
    parts = _Parts()
    parser = MultipartParser(boundary, parts.callbacks())  # type: ignore[arg-type]
    stream = request.stream()

    async def pieces() -> AsyncIterator[bytes]:
        while True:
            taken, parts.pieces = parts.pieces, []
            for piece in taken:
                yield piece
            if parts.over:
                break
            await step()
        async for chunk in stream:  # to the end: a form that breaks off was not sent whole
            parser.write(chunk)
        parser.finalize()

    async def step() -> None:
        chunk = await anext(stream, None)
        if chunk is None:
            raise InputError(_MALFORMED)
        parser.write(chunk)

    try:
        while parts.name is None:
            await step()
        if not parts.name:
            raise InputError("no file was chosen")
        return await folder.upload(parts.name, pieces(), limit)
    except (FormParserError, ClientDisconnect):
        raise InputError(_MALFORMED) from None


async def _upload(request: Request) -> Response:
    name = await keep_upload(request, bench_of(request).folder)
    return RedirectResponse(f"/data?{urlencode({'uploaded': name})}", 303)


routes = [Route(UPLOAD, _upload, methods=["POST"])]
