"""The encoding of a text file: as stated, else found; and the same text as UTF-8.

A mark at the beginning or text that is UTF-8 throughout leaves no doubt. For the rest a detector is
asked, and where its candidates would make different letters of the file, its owner: whatever a file
is read with, its release is written with again, and hierarchies must meet its letters.
"""

from __future__ import annotations

import codecs
import functools
import io
import os
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.engines.files import packing_of, shown_name, unpacked, unreadable
from sfumato.engines.notations import check_encoding
from sfumato.errors import InputError, ResourceError, quoted

_CHUNK = 1 << 20
_PACKED_LOOK = (
    1 << 22
)  # bytes of a packed file that are looked at: unpacking takes longer than both
_EVIDENCE = 1 << 14  # bytes of lines with other letters than English ones that a detector is shown
_ENOUGH = 1 << 12  # bytes below which a detector is shown them again: it finds more in longer texts
_MARKS = (  # UTF-32 before UTF-16, whose mark it begins with
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Encodings in use, the likelier first where several make the same letters of a file; those of old
# machines only where no other makes words of it.
_IN_USE = (
    *("cp1252", "iso8859_15", "cp1250", "iso8859_2", "cp1251", "koi8_r", "cp1253", "cp1254"),
    *("cp1257", "cp1255", "cp1256", "cp874", "cp932", "euc_jp", "gb18030", "big5", "cp949"),
)
_OLD = ("cp850", "cp852", "mac_roman")
_NOISE, _SENSE = 0.05, 0.05  # how far behind the best guess another one is still a guess
_ODD_WORDS = 0.02  # share of words beyond which letters are wrong


_ONE_BYTE = ("iso8859", "cp125", "mac")  # encodings in which a byte is a letter, Latin ones first
_NO_CHANCE = 3  # so many letters do not stand as UTF-8 would have them by chance
# Letters of a Mac that are others on Windows, where hardly any text has these alone: nearly all
# that it has beyond English ones begin after them.
_OTHER_THAN_MAC, _FIRST_LETTER = b"\x8a\x8c\x8d\x8e\x8f\x9a\x9c\x9d\x9e\x9f", 0xC0
_FOLLOWING, _BEYOND_ASCII = bytes(range(0x80, 0xC0)), bytes(range(0x80, 0x100))


@dataclass(frozen=True)
class TextEncoding:
    """A codec, the mark that a file begins with, and whether somebody said so."""

    codec: str
    mark: bytes = b""
    given: bool = False

    @property
    def is_utf8(self) -> bool:
        return self.codec == "utf-8"

    @property
    def name(self) -> str:
        """As options and manifests say it; the mark is written again."""
        if not self.mark:
            return self.codec
        return "utf-8-sig" if self.is_utf8 else self.codec[: len("utf-16")]


def encoding_of(path: Path, given: str | None = None) -> TextEncoding:
    """How a file is encoded: as stated, by its mark, or found; or which one it is asked."""
    try:
        if given is None:
            status = path.stat()
            return _detected(path, status.st_mtime_ns, status.st_size, status.st_ino)
        with unpacked(path) as file:
            encoding = _as_stated(shown_name(path), given, file.read(4))
        if encoding.codec.startswith(_ONE_BYTE) and _signs_of_utf8(path) >= _NO_CHANCE:
            raise InputError(
                f"{shown_name(path)} is UTF-8 throughout, and encoding says {quoted(given)}, in "
                "which every letter beyond English ones would become two others; leave encoding "
                "out, or say utf-8"
            )
        return encoding
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(path, error) from None


def is_utf8_text(path: Path) -> bool:
    """Whether a file is UTF-8 by its mark or throughout."""
    with unpacked(path) as file:
        marked = _mark(file.read(4))
    return marked.is_utf8 if marked is not None else _is_utf8(path)


def _as_stated(label: str, given: str, begin: bytes) -> TextEncoding:
    check_encoding(given)
    codec = codecs.lookup(given).name.removesuffix("-sig")
    mark = _mark(begin)
    if mark is None:
        return TextEncoding(f"{codec}-le" if codec in ("utf-16", "utf-32") else codec, given=True)
    if not mark.codec.startswith(codec):
        raise InputError(
            f"{label} begins with the mark of {mark.name}, and encoding says {quoted(given)}; "
            "leave it out, or correct it"
        )
    return TextEncoding(mark.codec, mark.mark, given=True)


def _mark(begin: bytes) -> TextEncoding | None:
    for mark, codec in _MARKS:
        if begin.startswith(mark):
            return TextEncoding(codec, mark)
    return None


@functools.lru_cache(maxsize=16)
def _detected(path: Path, *_stamp: int) -> TextEncoding:
    with unpacked(path) as file:
        begin = file.read(_CHUNK)
    if marked := _mark(begin):
        return marked
    if b"\0" in begin and (wide := _wide(begin)):
        return TextEncoding(wide)
    if _is_utf8(path):
        return TextEncoding("utf-8")
    evidence = _evidence(path)
    old_mac = b"\r" in begin and b"\n" not in begin  # no other program ends lines so
    mac_letters = bool({*_OTHER_THAN_MAC} & {*evidence}) and max(evidence) < _FIRST_LETTER
    return TextEncoding(_guess(shown_name(path), evidence, old_mac=old_mac, or_mac=mac_letters))


def _wide(begin: bytes) -> str | None:
    """UTF-16 without a mark: every other byte of English letters is 0."""
    for codec, zeros in (("utf-16-le", begin[1::2]), ("utf-16-be", begin[::2])):
        if 2 * zeros.count(0) > len(zeros):
            return codec
    return None


def _chunks(path: Path) -> Iterator[bytes]:
    left = _PACKED_LOOK if packing_of(path) else path.stat().st_size
    with unpacked(path) as file:
        while left > 0 and (chunk := file.read(_CHUNK)):
            left -= len(chunk)
            yield chunk


def _is_utf8(path: Path) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for chunk in _chunks(path):
            if decoder.getstate()[0] or not chunk.isascii():
                decoder.decode(chunk)
    except UnicodeDecodeError:
        return False
    return bool(packing_of(path)) or not decoder.getstate()[0]


def _signs_of_utf8(path: Path) -> int:
    """How many letters beyond English ones a file has as UTF-8; 0 where it is none throughout.

    In a text of one byte a letter such letters hardly ever stand as UTF-8 would have them: each
    after the right one, all over the file.
    """
    if not _is_utf8(path):
        return 0
    # Every such sign has one byte that begins it, and others that only follow.
    return sum(len(chunk.translate(None, _FOLLOWING)) - _ascii(chunk) for chunk in _chunks(path))


def _ascii(chunk: bytes) -> int:
    return len(chunk.translate(None, _BEYOND_ASCII))


def _evidence(path: Path) -> bytes:
    """The lines that have letters beyond English ones, as far as they are needed."""
    lines: list[bytes] = []
    size = 0
    for chunk in _chunks(path):
        if chunk.isascii():
            continue
        for line in chunk.split(b"\n")[:-1] or [chunk]:
            if not line.isascii():
                lines.append(line)
                size += len(line)
                if size > _EVIDENCE:
                    return b"\n".join(lines)
    return b"\n".join(lines)


def _guess(label: str, evidence: bytes, *, old_mac: bool, or_mac: bool) -> str:
    """The encoding whose letters make sense, if no other makes as much of other letters.

    `old_mac`: Mac Roman is as likely as any; `or_mac`: it is no guess, but asked about if it makes
    words.
    """
    from charset_normalizer import from_bytes

    longer = (evidence + b"\n") * (_ENOUGH // max(len(evidence), 1) + 1)
    names: dict[str, str] = {}
    # Mac Roman's umlauts are Slavic letters in the others, so words do not rule these out.
    for tried in ((*_IN_USE, "mac_roman") if old_mac else _IN_USE, _OLD):
        matches = [
            match
            for match in from_bytes(
                longer, steps=1, chunk_size=len(longer), cp_isolation=list(tried)
            )
            if _odd_words(str(match)) <= _ODD_WORDS
        ]
        least = min((match.chaos for match in matches), default=0.0)
        most = max((match.coherence for match in matches), default=0.0)
        for match in matches:
            if match.chaos <= least + _NOISE and match.coherence >= most - _SENSE:
                possible = {match.encoding, *match.could_be_from_charset}
                likeliest = next((name for name in tried if name in possible), match.encoding)
                names.setdefault(str(match), likeliest)
        names = dict(sorted(names.items(), key=lambda entry: tried.index(entry[1])))
        if names and or_mac and "mac_roman" not in names.values():
            mac_text = evidence.decode("mac_roman")
            if _odd_words(mac_text) <= _ODD_WORDS:
                names[mac_text] = "mac_roman"
        if len(names) == 1:
            return next(iter(names.values()))
        if names:
            break
    doubt = f"may be {', '.join(list(names.values())[:5])}" if names else "is none that we know of"
    raise InputError(
        f"{label} is not UTF-8, and its encoding {doubt}; say which it is: encoding in [read] of "
        "the policy, or --encoding"
    )


def _odd_words(text: str) -> float:
    """The share of words with other letters than English ones that nobody writes: Mÿnchen, M³nchen.

    A capital letter after a small one, or a sign between letters.
    """
    words = set(re.findall(r"[^\W\d_](?:[^\s\x00-\x7f]|[^\W\d_])+", text))
    foreign = [word for word in words if not word.isascii()]
    odd = sum(
        not word.rstrip("’”»“…").replace("’", "").replace("\xa0", "").isalpha()
        or not (word.istitle() or word.islower() or word.isupper() or word == word.swapcase())
        for word in foreign
    )
    return odd / max(len(foreign), 1)


def decoded(path: Path, encoding: TextEncoding) -> Iterator[str]:
    """A file's text, piece by piece; bytes that are none are told by their line."""
    label = shown_name(path)
    decoder = codecs.getincrementaldecoder(encoding.codec)()
    line = 1
    try:
        with unpacked(path) as file:
            file.read(len(encoding.mark))
            chunk = b"begin"
            while chunk:
                chunk = file.read(_CHUNK)
                text = decoder.decode(chunk, final=not chunk)
                line += text.count("\n")
                yield text
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode(encoding.codec, "ignore").count("\n")
        how = "as was said" if encoding.given else "as most of it is"
        raise InputError(
            f"{label}, line {line + before} is no text in {encoding.name}, {how}; correct the "
            "line, or say another encoding"
        ) from None
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(path, error) from None


def copy_as_utf8(path: Path, encoding: TextEncoding, target: Path) -> None:
    """Write a file's text to a new file that nobody else can read; nothing is ever replaced."""
    label = shown_name(path)
    try:
        made = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(made, "wb") as copy:
            for text in decoded(path, encoding):
                copy.write(text.encode("utf-8"))
    except UnicodeEncodeError:  # half a sign, which some codecs let pass
        raise InputError(f"{label} holds half signs in {encoding.name}; correct it") from None
    except OSError:
        raise ResourceError(
            f"{label} is copied as UTF-8 before it is read, and the spill folder cannot take it; "
            "give another folder"
        ) from None


class _Encoder(io.RawIOBase):
    """What is written to it as UTF-8 goes on in another encoding."""

    def __init__(self, sink: pa.NativeFile, name: str) -> None:
        self._sink, self._name = sink, name
        self._decode = codecs.getincrementaldecoder("utf-8")().decode
        self._encode = codecs.getincrementalencoder(name)().encode  # writes the mark, once

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        try:
            self._sink.write(self._encode(self._decode(bytes(data))))
        except UnicodeEncodeError:
            raise InputError(
                f"the release has letters that its table's encoding, {self._name}, has not; name a "
                "format, such as csv, to have it written in UTF-8"
            ) from None
        return len(data)


def encoded(sink: pa.NativeFile, name: str) -> pa.NativeFile:
    """A sink for UTF-8 that is written on in this encoding."""
    return pa.PythonFile(_Encoder(sink, name), "w")
