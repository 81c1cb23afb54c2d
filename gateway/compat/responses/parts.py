"""The parts of the items of a Responses request, as the parts of chat completions that mean the same."""

import re
from typing import Any

from gateway.compat.openai_fields import Fields, WrongType, WrongValue, checked
from gateway.providers.interface import Document, Family, Image, Opaque, Part, Text

MAX_PARTS = 1_000

_FAMILY: Family = "openai"
_DATA_URL = re.compile(r"data:([a-z]+/[a-zA-Z0-9.+-]+);base64,([A-Za-z0-9+/]+={0,2})")
_PDF_URL = re.compile(r"data:application/pdf;base64,([A-Za-z0-9+/]+={0,2})")
_FILE = ("file_data", "file_id", "filename")


def content(item: Fields, name: str) -> tuple[str, tuple[Part, ...]]:
    """What an item holds: its text, and its parts when it came in parts. Raises BadRequest."""
    given = item.need(name)
    if isinstance(given, str):
        return checked(given, item.place(name)), ()
    found = tuple(_part(part) for part in _parts(item, name))
    return "".join(part.text for part in found if isinstance(part, Text)), found


def said(item: Fields) -> tuple[str, str]:
    """What an assistant said in a message, and what of it was a refusal. Raises BadRequest."""
    given = item.need("content")
    if isinstance(given, str):
        return checked(given, item.place("content")), ""
    texts: list[str] = []
    refused: list[str] = []
    for part in _parts(item, "content", least=0):
        kind = part.need_text("type")
        if kind not in ("output_text", "refusal"):
            raise WrongValue(part.place("type"), f"{kind[:100]!r} is neither output_text nor refusal.")
        name = "text" if kind == "output_text" else kind
        part.need(name)
        texts.append(part.text(name) or "")
        refused += texts[-1:] if kind == "refusal" else []
    return "".join(texts), "".join(refused)


def _parts(item: Fields, name: str, least: int = 1) -> list[Fields]:
    given = item.values[name]
    at = item.place(name)
    if not isinstance(given, list):
        raise WrongType(at, "a string or an array of parts", given)
    if not least <= len(given) <= MAX_PARTS:
        raise WrongValue(at, f"it must hold from {least} to {MAX_PARTS:,} parts.")
    return [Fields.of(each, f"{at}[{index}]") for index, each in enumerate(given)]


def _part(part: Fields) -> Part:
    kind = part.need_text("type")
    if kind in ("input_text", "output_text"):
        part.need("text")
        return Text(part.text("text") or "", _FAMILY, part.rest("type", "text", "annotations", "logprobs"))
    if kind == "input_image":
        return _image(part)
    if kind == "input_file":
        return _file(part)
    if kind == "input_audio":
        audio = part.need_object(kind)
        audio.need_text("data")
        audio.need_text("format")
        return Opaque(_FAMILY, part.values)
    raise WrongValue(
        part.place("type"),
        f"{kind[:100]!r} is not supported here; it may be input_audio or input_file or input_image or input_text.",
    )


def _image(part: Fields) -> Image:
    if part.text("file_id"):
        raise WrongValue(part.place("file_id"), "Toolgate stores no files; send the image itself.")
    url = part.need_text("image_url")
    detail = part.text("detail")
    extra: dict[str, Any] = part.rest("type", "image_url", "detail", "file_id")
    if detail is not None:
        extra["detail"] = detail
    if found := _DATA_URL.fullmatch(url):
        return Image(media_type=found[1], data=found[2], family=_FAMILY, extra=extra)
    if not url.startswith(("https://", "http://")):
        raise WrongValue(part.place("image_url"), "it must be an http(s) URL or data:<type>;base64,<data>.")
    return Image(url=url, family=_FAMILY, extra=extra)


def _file(part: Fields) -> Document | Opaque:
    if part.text("file_url"):
        raise WrongValue(part.place("file_url"), "Toolgate fetches no files; send the file itself.")
    file = {name: value for name in _FILE if (value := part.text(name))}
    if not file.keys() & {"file_data", "file_id"}:
        raise WrongValue(part.at, "it must hold file_data or file_id.")
    if "file_id" not in file and (found := _PDF_URL.fullmatch(file["file_data"])):
        return Document("application/pdf", found[1], file.get("filename", ""), _FAMILY)
    return Opaque(_FAMILY, {"type": "file", "file": file})
