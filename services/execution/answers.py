"""What a service answered, as a tool's output: bounded, storable, and without the credential."""

import json
import math
import re
from collections.abc import Mapping
from typing import Any, NoReturn

from services.credentials import hidden
from tools.errors import ToolCallRejected, ToolError, ToolExecutionError
from tools.network.egress import Answer
from tools.schemas.arguments import MAX_INTEGER

# What is read of an answer, and kept.
MAX_BYTES = 1024 * 1024
# Deeper JSON is passed on as text.
MAX_DEPTH = 64
# Of a refusal in a service's own words.
_QUOTED = 600
# Encodings of text that are read in one go; others are taken for UTF-8.
_CHARSET = re.compile(
    r"""charset\s*=\s*"?(us-ascii|iso-8859-\d{1,2}|windows-12\d\d|utf-16(?:le|be)?|shift_jis|euc-jp|euc-kr|gb2312|gbk|"""
    r"""gb18030|big5|koi8-[ru])"?\s*(?:;|$)""",
    re.IGNORECASE,
)
_BINARY = re.compile(
    r"(image/(?!svg\+xml)|audio/|video/|font/).*|application/(octet-stream|pdf|zip|gzip|x-tar|x-7z-compressed|msword|"
    r"vnd\.ms-[a-z.-]+|vnd\.openxmlformats-[a-z.-]+)"
)
_CONTROL = re.compile("[\x00\ud800-\udfff]")
# Answers that say nothing about the call itself: the credential, the rate limit, the time.
_OF_THE_SERVICE = frozenset({401, 403, 407, 408, 425, 429})


def output(name: str, answer: Answer, headers: Mapping[str, str], success: str = "") -> Any:
    """The JSON value or the text that came back, or what it was that is neither; `headers` hold the credential that it
    was asked with.

    Where `success` names a field, only an answer in which it is true is a success.

    Raises ToolExecutionError and ToolCallRejected, without the credential in their words.
    """
    if answer.encoding:
        raise ToolExecutionError(f"{name} answered in a packed form that was not asked for, which is not unpacked.")
    text = hidden(_text(answer), headers)
    if not 200 <= answer.status < 300:
        raise refusal(name, answer.status, text)
    if success and not _says(success, answer, text):
        said = storable(" ".join(text.split())[:_QUOTED])
        raise ToolCallRejected(f"{name} rejected the call: its answer does not say {success}. It said: {said}")
    if _is_binary(answer):
        return _described(answer)
    if len(answer.body) > MAX_BYTES:
        # No more JSON: the recorder keeps the beginning, and says that it is cut.
        return storable(text)
    if not text.strip():
        return {"status": answer.status}
    try:
        value = DECODER.decode(text)
    except (ValueError, RecursionError):
        return storable(text)
    if depth(value) > MAX_DEPTH:
        return storable(text)
    return cleaned(value, headers)


def _text(answer: Answer) -> str:
    """The body as text, in the encoding that it says it has, where that is known."""
    named = _CHARSET.search(answer.kind)
    try:
        return answer.body.decode(named.group(1) if named else "utf-8", "replace")
    except LookupError:
        return answer.body.decode("utf-8", "replace")


def _is_binary(answer: Answer) -> bool:
    """Whether it is no text: an image, a document, an archive."""
    kind = answer.kind.partition(";")[0].strip().lower()
    return bool(answer.body) and bool(_BINARY.fullmatch(kind))


def _described(answer: Answer) -> dict[str, Any]:
    """What is said of an answer that nobody could read."""
    kind = answer.kind.partition(";")[0].strip().lower()[:100]
    whole = len(answer.body) <= MAX_BYTES
    size = {"bytes": len(answer.body)} if whole else {"bytes": MAX_BYTES, "more": True}
    words = "The answer is a file and no text, so it is not passed on."
    return {"status": answer.status, "content_type": kind, **size, "note": words}


def _says(success: str, answer: Answer, text: str) -> bool:
    """Whether a whole answer is an object in which the field is true."""
    try:
        value = DECODER.decode(text) if len(answer.body) <= MAX_BYTES else None
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and value.get(success) is True


def refusal(name: str, status: int, text: str, missing: str = "") -> ToolError:
    """Why a call failed that was answered with such a status; `missing` are scopes that the credential lacks."""
    said = storable(" ".join(text.split())[:_QUOTED])
    words = f" It said: {said}" if said else ""
    if status in (401, 403, 407):
        return ToolExecutionError(
            f"{name} refused the service's credential, or what that may do (HTTP {status}); an owner can change it."
            f"{lacking(missing)}{words}"
        )
    if 300 <= status < 400:
        return ToolExecutionError(f"{name} answered with a redirect (HTTP {status}), which is not followed.")
    if status == 429:
        return ToolExecutionError(f"{name} has no requests left for now (HTTP 429).{words}")
    if 400 <= status < 500 and status not in _OF_THE_SERVICE:
        return ToolCallRejected(f"{name} rejected the call (HTTP {status}).{words}")
    return ToolExecutionError(f"{name} failed (HTTP {status}).{words}")


def lacking(missing: str) -> str:
    """A sentence about the scopes that a credential lacks; "" for none."""
    return f" It needs the scope {missing}, which an owner adds to the scopes of its credential." if missing else ""


def storable(text: str) -> str:
    return _CONTROL.sub("\ufffd", text)


def _integer(text: str) -> int | str:
    """A number that JSON cannot carry exactly, such as a long id, is its digits."""
    if len(text) > 20 or abs(int(text)) > MAX_INTEGER:
        return text
    return int(text)


def _float(text: str) -> float | str:
    return number if math.isfinite(number := float(text)) else text


def _constant(text: str) -> NoReturn:
    raise ValueError(text)


DECODER = json.JSONDecoder(parse_int=_integer, parse_float=_float, parse_constant=_constant, strict=False)


def depth(value: Any) -> int:
    deepest, waiting = 0, [(value, 1)]
    while waiting:
        each, level = waiting.pop()
        if isinstance(each, dict | list):
            deepest = max(deepest, level)
            if deepest > MAX_DEPTH:
                break
            waiting += [(member, level + 1) for member in (each.values() if isinstance(each, dict) else each)]
    return deepest


def cleaned(value: Any, headers: Mapping[str, str]) -> Any:
    """The value with every text storable and, unescaped by now, once more without the credential."""
    if isinstance(value, str):
        return hidden(storable(value), headers)
    if isinstance(value, list):
        return [cleaned(each, headers) for each in value]
    if isinstance(value, dict):
        return {hidden(storable(name), headers): cleaned(each, headers) for name, each in value.items()}
    return value
