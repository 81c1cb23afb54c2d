"""What comes over the wire, made readable: JSON with raw arguments, and server-sent events."""

import re
from typing import Any

import orjson

from gateway.providers.errors import ProviderGarbled

_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)"
)
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[{}\[\]]', re.DOTALL)


def parsed(data: bytes) -> dict[str, Any]:
    """The JSON object in `data`; a lone surrogate in a string becomes the text of its escape.

    Raises ProviderGarbled when it is no JSON object.
    """
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        try:
            value = orjson.loads(_ESCAPE.sub(_spelt, data))
        except orjson.JSONDecodeError:
            value = None
    if not isinstance(value, dict):
        raise ProviderGarbled("The provider's answer is not the JSON that was expected.")
    return value


def _spelt(escape: re.Match[bytes]) -> bytes:
    return b"\\\\" + escape[1] if escape[1] else escape[0]


def raw_member(name: bytes) -> re.Pattern[bytes]:
    """Where a member of that name begins whose value is an object or an array; not inside a string."""
    # The name comes first, so that what does not hold it is passed over at the speed of a search for bytes.
    return re.compile(rb'"%b"(?<!\\"%b")\s*:\s*(?=[{\[])' % (name, name))


def unparsed(data: bytes, member: re.Pattern[bytes]) -> bytes:
    """`data` with each object or array that follows `member` put into a JSON string, so that it comes out raw.

    Parsing would lose what validation and the audit must see: duplicate keys, long integers, absurd depth.
    """
    pieces: list[bytes] = []
    done = 0
    while found := member.search(data, done):
        start = found.end()
        end = _end(data, start)
        if end is None:
            break
        pieces += (data[done:start], orjson.dumps(data[start:end].decode("utf-8", "replace")))
        done = end
    return b"".join([*pieces, data[done:]]) if pieces else data


def _end(data: bytes, start: int) -> int | None:
    depth = 0
    for token in _TOKEN.finditer(data, start):
        first = token[0][:1]
        if first in b"{[":
            depth += 1
        elif first in b"}]":
            depth -= 1
            if depth == 0:
                return token.end()
    return None


def text(value: object) -> str:
    """The value if it is text; nothing where a server sent something else."""
    return value if isinstance(value, str) else ""


def count(value: object) -> int:
    """The value if it is a number of tokens; 0 where a server sent something else."""
    return value if isinstance(value, int) and value >= 0 else 0


def index(value: object) -> int | str | None:
    """The value if it can tell pieces of one call from another's; None where a server sent none."""
    return value if isinstance(value, int | str) else None


class Events:
    """Server-Sent Events out of bytes as they come."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """The data of every event that is now complete."""
        if b"\n" not in chunk and b"\r" not in chunk:
            self._rest.append(chunk)
            return []
        block = b"".join([*self._rest, chunk])
        # A carriage return at the very end may be half of a line's end.
        end = max(block.rfind(b"\n"), block.rfind(b"\r", 0, -1)) + 1
        self._rest = [block[end:]]
        complete = []
        for line in block[:end].splitlines():
            if line.startswith(b"data:"):
                self._data.append(line[6:] if line[5:6] == b" " else line[5:])
            elif not line and self._data:
                complete.append(b"\n".join(self._data))
                self._data = []
        return complete

    def rest(self) -> list[bytes]:
        """The data of a last event whose empty line was left out; a line that broke off is dropped."""
        broken = bool(self._rest) and self._rest[-1] != b"" and not self._rest[-1].endswith(b"\r")
        return [] if broken else self.feed(b"\n")
