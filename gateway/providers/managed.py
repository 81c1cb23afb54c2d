"""What providers are told of managed tools, made once for the specs of an offer: later chats have the same."""

from collections.abc import Callable
from dataclasses import dataclass, field

from gateway.providers.interface import Prompt
from gateway.providers.names import Names
from tools.definitions import Definition, Rename
from tools.interface import ToolSpec

Specs = tuple[ToolSpec, ...]
Style = Callable[[Specs, Rename], list[Definition]]


@dataclass(frozen=True, slots=True)
class _Offered:
    """Of one tuple of specs, which is held here: no other has its id meanwhile."""

    specs: Specs
    names: Names
    definitions: dict[Style, list[Definition]] = field(default_factory=dict)


# So many of them, the last ones.
MOST = 256
_offered: dict[int, _Offered] = {}


def names(prompt: Prompt) -> Names:
    """The aliases of all tools that the prompt offers."""
    if prompt.client_tools:
        return Names(tool.name for tools in (prompt.tools, prompt.client_tools) for tool in tools)
    known = _offered.get(id(prompt.tools))
    if known is None:
        if len(_offered) >= MOST:
            del _offered[next(iter(_offered))]
        known = _offered[id(prompt.tools)] = _Offered(prompt.tools, Names(tool.name for tool in prompt.tools))
    return known.names


def definitions(prompt: Prompt, names: Names, style: Style) -> list[Definition]:
    """The managed tools as a function of `tools.definitions` has them, by these aliases; not to be changed."""
    known = _offered.get(id(prompt.tools))
    if known is None or known.names is not names:
        return style(prompt.tools, names.alias)
    if style not in known.definitions:
        known.definitions[style] = style(prompt.tools, names.alias)
    return known.definitions[style]
