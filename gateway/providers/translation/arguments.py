"""Arguments of tools as every provider accepts them, and the way back to the names of their schemas.

Providers look at the schema itself, and not within its properties. One name that they refuse there ($filter, tags[],
a.b, more than 64 characters), or alternatives beside the properties (anyOf and its kin), end the whole request.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import orjson

from gateway.providers.translation.aliases import cut_and_marked, distinct
from tools.errors import ToolValidationError
from tools.interface import ToolSpec
from tools.schemas import arguments

# Some providers take a dot, too.
_ACCEPTED = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_OTHER = re.compile(r"[^a-zA-Z0-9_-]+")
_LONGEST = 64
# Keywords whose schemas are of the same object: one, several, or by name.
_ONE = ("not", "if", "then", "else")
_LIST = ("allOf", "anyOf", "oneOf")
_BY_ARGUMENT = ("dependentSchemas", "dependentRequired", "dependencies")

# What is refused beside the properties, and how much of it is said in words.
_REFUSED, _MOST_SAID = (*_LIST, "not", "enum"), 4000

Schema = dict[str, Any]


class ArgumentAliases:
    """The aliases of the arguments of one tool: no two share one, and none is the name of another argument.

    `schema` is the tool's own with the aliases in it, which is what a model is shown.
    """

    def __init__(self, schema: Schema, refused: list[str]):
        self._aliases = distinct(refused, set(schema["properties"]), _readable, _marked)
        self._names = {alias: name for name, alias in self._aliases.items()}
        self.schema = _renamed(schema, self._aliases)

    @classmethod
    def of(cls, schema: Schema) -> "ArgumentAliases | None":
        """Those of a tool's schema; None where every name is accepted as it is."""
        properties = schema.get("properties")
        refused = [name for name in properties if not _ACCEPTED.fullmatch(name)] if isinstance(properties, dict) else []
        return cls(schema, refused) if refused else None

    @property
    def names(self) -> dict[str, str]:
        """The arguments by their aliases, where these differ."""
        return dict(self._names)

    def to_provider(self, text: str) -> str:
        """Arguments of a call, as JSON, by the aliases that a model knows."""
        return _with(text, self._aliases)

    def from_provider(self, text: str) -> str:
        """Arguments of a call, as JSON, by the names of the tool's schema, from the aliases that a model knows."""
        return _with(text, self._names)


def for_providers(specs: Iterable[ToolSpec]) -> tuple[dict[str, ArgumentAliases], tuple[ToolSpec, ...]]:
    """The aliases of each tool's arguments that need them, by the tool's name, and all tools as providers take them."""
    found: dict[str, ArgumentAliases] = {}
    shown = []
    for spec in specs:
        renamed = ArgumentAliases.of(spec.parameters)
        if renamed is not None:
            found[spec.name] = renamed
        shown.append(_without_alternatives(spec if renamed is None else replace(spec, parameters=renamed.schema)))
    return found, tuple(shown)


def _without_alternatives(spec: ToolSpec) -> ToolSpec:
    """The tool with what providers refuse of a schema itself, though not within it, said in words."""
    refused = {keyword: spec.parameters[keyword] for keyword in _REFUSED if keyword in spec.parameters}
    if not refused:
        return spec
    kept = {keyword: value for keyword, value in spec.parameters.items() if keyword not in refused}
    said = orjson.dumps(refused).decode()
    more = f"They have to fit this JSON Schema, too: {said}" if len(said) <= _MOST_SAID else "The tool says which."
    words = f"{spec.description}\n\nNot all of its arguments go together. {more}"
    return replace(spec, description=words, parameters=kept)


def _readable(name: str) -> str:
    """What is left of a name without what is refused; one that is cut is marked, since others begin alike."""
    left = _OTHER.sub("_", name).strip("_")
    return left if len(left) <= _LONGEST else cut_and_marked(name, left, 8, _LONGEST)


def _marked(name: str, digits: int) -> str:
    return cut_and_marked(name, _OTHER.sub("_", name).strip("_"), digits, _LONGEST)


def _with(text: str, names: dict[str, str]) -> str:
    """The JSON object with other names; a text that the gates would refuse stays as it is, for them to say why."""
    try:
        given = arguments.read(text)
    except ToolValidationError:
        return text
    if not isinstance(given, dict) or given.keys().isdisjoint(names):
        return text
    return orjson.dumps(_keyed(given, names)).decode()


def _keyed(given: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """The object with other names. What is there by both of its names stays so: it is for the schema to refuse."""
    return {name if names.get(name, name) in given else names[name]: value for name, value in given.items()}


def _renamed(schema: Any, aliases: dict[str, str]) -> Any:
    """A schema of the arguments with their aliases, in whatever it says about them by name."""
    if not isinstance(schema, dict):
        return schema
    made = dict(schema)
    # It would speak of the names that it does not show; what is sent is held to it all the same.
    made.pop("propertyNames", None)
    for keyword, value in made.items():
        if keyword == "required":
            made[keyword] = _of_argument(value, aliases)
        elif keyword in _ONE:
            made[keyword] = _renamed(value, aliases)
        elif keyword in _LIST and isinstance(value, list):
            made[keyword] = [_renamed(each, aliases) for each in value]
        elif keyword in ("enum", "examples") and isinstance(value, list):
            made[keyword] = [_keyed(each, aliases) if isinstance(each, dict) else each for each in value]
        elif isinstance(value, dict) and keyword in ("properties", "const", "default"):
            made[keyword] = _keyed(value, aliases)
        elif isinstance(value, dict) and keyword in _BY_ARGUMENT:
            made[keyword] = _keyed({name: _of_argument(each, aliases) for name, each in value.items()}, aliases)
    return made


def _of_argument(said: Any, aliases: dict[str, str]) -> Any:
    """What is said of one: names of arguments, or a schema of them all."""
    if isinstance(said, list):
        return [aliases.get(each, each) if isinstance(each, str) else each for each in said]
    return _renamed(said, aliases)
