"""A document as it was fetched or pasted, JSON or YAML, as JSON.

YAML is read as far as it can say what JSON says, from its events: no aliases, which a few lines of could stand for
gigabytes; no tags, no merge keys; plain scalars by the rules of YAML 1.2, so that `no` is a text and a date is one too.
"""

import re
from typing import Any

import orjson
import yaml

from services.errors import InvalidService

# A megabyte takes about a second of a processor.
MAX_YAML_BYTES = 2 * 1024 * 1024
MAX_DEPTH, MAX_EVENTS = 64, 500_000
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INTEGER = re.compile(r"[-+]?[0-9]{1,18}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,3})?")
_WORDS = {"": None, "~": None, "null": None, "Null": None, "NULL": None} | {
    spelling: value for value in (True, False) for spelling in (str(value).lower(), str(value), str(value).upper())
}


def decoded(text: str, field: str) -> Any:
    """The value in a document; raises InvalidService."""
    try:
        return orjson.loads(text)
    except ValueError:
        if text.lstrip()[:1] in ("{", "[", ""):
            raise InvalidService("The document is not JSON.", field) from None
    if len(text.encode()) > MAX_YAML_BYTES:
        raise InvalidService(f"A YAML document may have up to {MAX_YAML_BYTES:,} bytes; make it JSON.", field)
    try:
        return _read(text)
    except _Unusable as unusable:
        raise InvalidService(f"The document is neither JSON nor YAML that can be read: {unusable}", field) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark is not None else ""
        raise InvalidService(f"The document is neither JSON nor YAML{where}.", field) from None


def as_json(text: str, field: str) -> str:
    """The document as JSON, as it is where it is that; raises InvalidService."""
    return text if text.lstrip()[:1] == "{" else orjson.dumps(decoded(text, field)).decode()


class _Unusable(Exception):
    """YAML that says more than JSON can, or too much; the message is for people."""


class _Collection:
    """A list or an object that is being read; `key` is the object's that waits for its value."""

    def __init__(self, value: list[Any] | dict[str, Any]) -> None:
        self.value, self.key = value, ""
        self.keyed = False

    def take(self, node: Any, name: str | None, line: int) -> None:
        """Add what was read; `name` is how a scalar is written, None for what is no scalar."""
        if isinstance(self.value, list):
            self.value.append(node)
        elif self.keyed:
            self.value[self.key], self.keyed = node, False
        elif name is None or name == "<<":
            raise _Unusable(f"a key that is no text (line {line}).")
        elif name in self.value:
            raise _Unusable(f"a key occurs twice in one object (line {line}).")
        else:
            self.key, self.keyed = name, True


def _read(text: str) -> Any:
    root = _Collection([])
    open_ones, documents = [root], 0
    for number, event in enumerate(yaml.parse(text, Loader=_LOADER)):
        line = event.start_mark.line + 1 if event.start_mark is not None else 0
        if number > MAX_EVENTS or len(open_ones) > MAX_DEPTH:
            raise _Unusable(f"it holds more than {MAX_EVENTS:,} values, or more than {MAX_DEPTH} levels.")
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise _Unusable(f"anchors and aliases are not taken (line {line}).")
        if getattr(event, "tag", None) is not None:
            raise _Unusable(f"tags are not taken (line {line}).")
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise _Unusable("there are several documents in it.")
        elif isinstance(event, yaml.ScalarEvent):
            plain = event.implicit[0] and not event.style
            open_ones[-1].take(_scalar(event.value, line) if plain else event.value, event.value, line)
        elif isinstance(event, yaml.SequenceStartEvent | yaml.MappingStartEvent):
            made = _Collection([] if isinstance(event, yaml.SequenceStartEvent) else {})
            open_ones[-1].take(made.value, None, line)
            open_ones.append(made)
        elif isinstance(event, yaml.SequenceEndEvent | yaml.MappingEndEvent):
            open_ones.pop()
    found = root.value
    if not (isinstance(found, list) and found and isinstance(found[0], dict | list)):
        raise _Unusable("it is a text.")
    return found[0]


def _scalar(text: str, line: int) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        number = float(text)
        if abs(number) == float("inf"):
            raise _Unusable(f"a number is too large (line {line}).")
        return number
    return text
