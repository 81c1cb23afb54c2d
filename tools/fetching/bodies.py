"""The body of an answer as text: bounded while it arrives and while it is unpacked, and read as what it is."""

import codecs
import re
import zlib

from tools.errors import ToolCallRejected
from tools.network.egress import Exchange

HTML = frozenset({"text/html", "application/xhtml+xml"})
_TEXT = frozenset({"application/json", "application/xml", "application/x-ndjson", "application/yaml"})
_PACKED = frozenset({"gzip", "x-gzip", "deflate"})
# What a page may be written in: those of the Encoding Standard. Python knows others, which unpack or are slow.
_ENCODINGS = frozenset(
    codecs.lookup(each).name
    for each in (
        *(
            "utf-8",
            "utf-16-le",
            "utf-16-be",
            "cp866",
            "koi8-r",
            "koi8-u",
            "mac-roman",
            "mac-cyrillic",
            "gbk",
            "gb18030",
        ),
        *("big5", "euc-jp", "iso2022-jp", "shift-jis", "euc-kr", "tis-620", "cp874"),
        *(f"iso8859-{number}" for number in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)),
        *(f"cp125{number}" for number in range(9)),
    )
)
# What the web means by these.
_MEANT = {"iso8859-1": "cp1252", "ascii": "cp1252", "iso8859-9": "cp1254", "gb2312": "gb18030", "utf-16": "utf-16-le"}
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_META = re.compile(rb"""<meta[^>]{0,200}?charset\s{0,9}=\s{0,9}["']?\s{0,9}([A-Za-z0-9._:-]{1,40})""", re.IGNORECASE)
_META_BYTES = 1024
# Controls but newline and tab, lone surrogates, and what is no character.
_REFUSED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufeff\ufffe\uffff]")


def kind(header: str) -> tuple[str, str]:
    """What a Content-Type says: the type, and the encoding or ""."""
    type_, _, parameters = header.partition(";")
    found = re.search(r"""charset\s{0,9}=\s{0,9}["']?([^\s"';]{1,40})""", parameters[:200], re.IGNORECASE)
    return type_.strip().lower()[:100], found[1] if found else ""


def readable(type_: str) -> bool:
    """Whether bodies of the type are text."""
    return type_ in HTML or type_ in _TEXT or type_.startswith("text/") or type_.endswith(("+json", "+xml"))


async def read(exchange: Exchange, host: str, most: int, *, cuts: bool = False) -> bytes:
    """The body, unpacked, of at most `most` bytes; a longer one is refused, or with `cuts` its beginning is returned.

    Raises ToolCallRejected, and EgressFailed.
    """
    if exchange.encoding and exchange.encoding not in _PACKED:
        raise ToolCallRejected(f"{host} packed its answer in a way that was not asked for and is not understood.")
    unpack = _Unpacking() if exchange.encoding else None
    body = bytearray()
    async for chunk in exchange.chunks():
        try:
            body += chunk if unpack is None else unpack.next(chunk, most + 1 - len(body))
        except zlib.error:
            raise ToolCallRejected(f"{host} answered something that cannot be unpacked.") from None
        if len(body) > most:
            if cuts:
                return bytes(body[:most])
            raise ToolCallRejected(f"{host} answered more than {most:,} bytes, which is the most that is read.")
    return bytes(body)


class _Unpacking:
    """What was packed with gzip or deflate, piece by piece."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(47)

    def next(self, chunk: bytes, most: int) -> bytes:
        """What the chunk adds, at most `most` bytes of it. Raises zlib.error."""
        found = bytearray()
        while chunk and len(found) < most:
            if self._stream.eof:
                # Several packed pieces may follow each other.
                self._stream = zlib.decompressobj(47)
            found += self._stream.decompress(chunk, most - len(found))
            chunk = self._stream.unused_data if self._stream.eof else b""
        return bytes(found)


def decode(body: bytes, declared: str, *, html: bool, host: str) -> str:
    """The body as text: in the encoding that its mark, its header or the page names and that fits; else in UTF-8, else
    in what most of the old web is written in.

    Raises ToolCallRejected for what is no text.
    """
    for mark, encoding in _MARKS:
        if body.startswith(mark):
            return clean(body[len(mark) :].decode(encoding, "replace"))
    meta = _META.search(body, 0, _META_BYTES) if html else None
    for named in (declared, meta[1].decode() if meta else "", "utf-8"):
        encoding = _known(named)
        if not encoding or (encoding.startswith("utf-16") and named != declared):
            continue
        try:
            text = body.decode(encoding)
        except UnicodeDecodeError:
            continue
        return _checked(text, host)
    return _checked(body.decode("cp1252", "replace"), host)


def clean(text: str) -> str:
    """The text as it can be stored, in lines that end with a newline."""
    return _REFUSED.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def _checked(text: str, host: str) -> str:
    if "\x00" in text:
        raise ToolCallRejected(f"{host} answered something that is no text, whatever it says.")
    return clean(text)


def _known(name: str) -> str:
    """What Python calls the encoding; "" for none that a page may be in."""
    try:
        found = codecs.lookup(name).name if name else ""
    except (LookupError, ValueError):
        return ""
    found = _MEANT.get(found, found)
    return found if found in _ENCODINGS else ""
