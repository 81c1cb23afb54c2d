"""References within a schema, put in place within bounds: no model is asked to follow one."""

from typing import Any
from urllib.parse import unquote

from services.errors import InvalidService

# Nodes that one schema may become: far more than fit into its bytes.
MOST_NODES = 20_000
# What a schema says that no value is held to.
_WORDS = frozenset({"title", "description", "default", "example", "examples", "deprecated", "readOnly", "writeOnly"})


def depth(value: Any) -> int:
    """How many levels of objects and lists there are, found without recursion."""
    deepest, waiting = 0, [(value, 1)]
    while waiting:
        each, level = waiting.pop()
        if isinstance(each, dict | list):
            deepest = max(deepest, level)
            members = each.values() if isinstance(each, dict) else each
            waiting += [(member, level + 1) for member in members]
    return deepest


def inlined(
    schema: dict[str, Any], at: str, most_depth: int, most_bytes: int, root: dict[str, Any] | None = None
) -> dict[str, Any]:
    """A copy of the schema with every local `$ref` replaced by what it names in `root` (the schema itself by default).

    Raises InvalidService for a reference that is remote, names nothing, or comes back to itself, and for a schema that
    would be larger than its bounds.
    """
    made = _Inlining(schema if root is None else root, at, most_depth, most_bytes).of(schema, 1, ())
    if not isinstance(made, dict):
        raise InvalidService(f"{at} must be a JSON Schema of an object.", at)
    for name in ("$defs", "definitions"):
        if root is None:
            made.pop(name, None)
    return made


class _Inlining:
    def __init__(self, root: dict[str, Any], at: str, most_depth: int, most_bytes: int):
        self._root, self._at, self._most_depth = root, at, most_depth
        self._nodes = MOST_NODES
        self._bytes = most_bytes

    def of(self, value: Any, level: int, within: tuple[str, ...]) -> Any:
        self._nodes -= 1
        if isinstance(value, str):
            self._bytes -= len(value)
        if self._nodes < 0 or self._bytes < 0:
            raise self._refused("becomes too large once its references are followed")
        if level > self._most_depth:
            raise self._refused(f"is nested more than {self._most_depth} levels deep once its references are followed")
        if isinstance(value, list):
            return [self.of(each, level + 1, within) for each in value]
        if not isinstance(value, dict):
            return value
        # A property may be called "$ref": then it is a schema, and no text.
        if isinstance(pointer := value.get("$ref"), str):
            if pointer in within:
                raise self._refused(f"has a reference that comes back to itself: {pointer:.200}")
            target = self.of(named(self._root, pointer, self._at), level, (*within, pointer))
            beside = {name: each for name, each in value.items() if name != "$ref"}
            if not beside or not isinstance(target, dict):
                return target
            return _both(target, self.of(beside, level, within))
        definitions = ("$defs", "definitions") if level == 1 and not within else ()
        kept = {name: each for name, each in value.items() if name not in definitions}
        self._bytes -= sum(map(len, kept))
        return {name: self.of(each, level + 1, within) for name, each in kept.items()}

    def _refused(self, why: str) -> InvalidService:
        return InvalidService(f"{self._at} {why}.", self._at)


def _both(target: dict[str, Any], beside: dict[str, Any]) -> dict[str, Any]:
    """A schema that holds what both say, where words beside the reference count first."""
    if all(name in _WORDS or target.get(name, value) == value for name, value in beside.items()):
        return target | beside
    words = {name: value for name, value in beside.items() if name in _WORDS}
    return {"allOf": [target, {name: value for name, value in beside.items() if name not in _WORDS}], **words}


def named(root: dict[str, Any], pointer: Any, at: str) -> Any:
    """What a local reference names, a schema or another object; raises InvalidService."""
    if not isinstance(pointer, str) or (pointer != "#" and not pointer.startswith("#/")):
        raise InvalidService(f"{at} has a $ref that is not local: {pointer!s:.200}. Only #/… is followed.", at)
    found: Any = root
    for part in unquote(pointer).split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        try:
            found = found[int(name)] if isinstance(found, list) else found[name]
        except (KeyError, IndexError, ValueError, TypeError):
            raise InvalidService(f"{at} has a $ref that names nothing: {pointer:.200}.", at) from None
    if not isinstance(found, dict | bool):
        raise InvalidService(f"{at} has a $ref that does not name a schema: {pointer:.200}.", at)
    return found
