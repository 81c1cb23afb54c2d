"""Tool names that every provider accepts, and the way back to the real ones."""

import re
from collections.abc import Iterable, Mapping

from gateway.providers.translation.aliases import cut_and_marked, distinct
from gateway.providers.translation.arguments import ArgumentAliases

_ACCEPTED = re.compile(r"[a-zA-Z0-9_-]+")
# With what the name of a tool must not begin, says Gemini.
_NO_BEGINNING = re.compile(r"[0-9-]")
_OTHER = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST = 64


def safe(text: str, longest: int = _LONGEST) -> str:
    """The text as a provider accepts it: itself where it can be, `a.b` as `a__b`, else cut and marked with a hash."""
    dotted = text.replace(".", "__")
    for candidate in (text, dotted):
        if len(candidate) <= longest and _ACCEPTED.fullmatch(candidate):
            return candidate
    return _marked(text, 8, longest)


def safe_name(name: str) -> str:
    """A tool's name as every provider accepts it: as `safe`, and begun with a letter or an underscore."""
    alias = safe(name)
    if not _NO_BEGINNING.match(alias):
        return alias
    return f"_{alias}" if len(alias) < _LONGEST else _marked(name, 8)


def _marked(text: str, digits: int, longest: int = _LONGEST) -> str:
    readable = _OTHER.sub("_", text.replace(".", "__"))
    if _NO_BEGINNING.match(readable):
        readable = f"_{readable}"
    return cut_and_marked(text, readable, digits, longest)


class Names:
    """The aliases of one prompt's tools: no two tools share one, and each leads back to its tool.

    `arguments` are those of the tools whose arguments have aliases, by the tool's name.
    """

    def __init__(self, names: Iterable[str], arguments: Mapping[str, ArgumentAliases] | None = None):
        names = tuple(dict.fromkeys(names))
        self.arguments = arguments or {}
        self._aliases: dict[str, str] = {}
        self._names: dict[str, str] = {}
        unsafe = [name for name in names if safe_name(name) != name]
        if not unsafe:
            return
        self._aliases = distinct(unsafe, set(names), safe_name, _marked)
        self._names = {alias: name for name, alias in self._aliases.items()}

    def alias(self, name: str) -> str:
        """The name for the provider; also for a name that is no tool of this prompt."""
        return self._aliases.get(name) or safe_name(name)

    def real(self, alias: str) -> str:
        """The tool behind an alias; a name that is no alias stays as it is."""
        return self._names.get(alias, alias)

    def arguments_to_provider(self, name: str, arguments: str) -> str:
        """The arguments of a call of the tool `name`, as JSON, by the aliases that the provider knows."""
        found = self.arguments.get(name)
        return found.to_provider(arguments) if found else arguments

    def arguments_from_provider(self, name: str, arguments: str) -> str:
        """The arguments of a call of the tool `name`, as the provider sent them, by the names of the tool's schema."""
        found = self.arguments.get(name)
        return found.from_provider(arguments) if found else arguments
