"""What providers are sent of managed tools, made once for the specs of an offer: later chats have the same.

An offer's tuple of specs is another one as soon as rights, tools or the agent are others (`tools.offering.offer`).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import orjson

from gateway.providers.interface import Prompt
from gateway.providers.translation import arguments
from gateway.providers.translation.names import Names
from tools.definitions import Definition, Rename
from tools.interface import ToolSpec

Specs = tuple[ToolSpec, ...]
Style = Callable[[Specs, Rename], list[Definition]]
T = TypeVar("T")


class Definitions(list[Definition]):
    """Definitions that are written as JSON once, however often they are sent; not to be changed."""

    @cached_property
    def written(self) -> orjson.Fragment:
        """Their JSON, for orjson to put into a body. Raises JSONEncodeError."""
        return orjson.Fragment(orjson.dumps(list(self)))


@dataclass(frozen=True, slots=True)
class _Offered:
    """Of one tuple of specs, which is held here: no other has its id meanwhile. `sent`: as providers take them."""

    specs: Specs
    sent: Specs
    names: Names
    definitions: dict[Style, Definitions] = field(default_factory=dict)
    made: dict[Callable[[Specs], Any], Any] = field(default_factory=dict)


# So many of them, the last ones.
MOST = 256
_offered: dict[int, _Offered] = {}


def names(prompt: Prompt) -> Names:
    """The aliases of all tools that the prompt offers."""
    if prompt.client_tools:
        both = (tool.name for tools in (prompt.tools, prompt.client_tools) for tool in tools)
        return Names(both, _known(prompt.tools).names.arguments)
    return _known(prompt.tools).names


def _known(specs: Specs) -> _Offered:
    known = _offered.get(id(specs))
    if known is None:
        if len(_offered) >= MOST:
            del _offered[next(iter(_offered))]
        of_tools, sent = arguments.for_providers(specs)
        known = _offered[id(specs)] = _Offered(specs, sent, Names((spec.name for spec in specs), of_tools))
    return known


def definitions(prompt: Prompt, names: Names, style: Style) -> list[Definition]:
    """The managed tools as a function of `tools.definitions` has them, by these aliases; not to be changed."""
    known = _known(prompt.tools)
    if known.names is not names:
        return style(known.sent, names.alias)
    if style not in known.definitions:
        known.definitions[style] = Definitions(style(known.sent, names.alias))
    return known.definitions[style]


def once(specs: Specs, make: Callable[[Specs], T]) -> T:
    """What `make` makes of the specs of an offer as providers take them, and of nothing else."""
    known = _known(specs)
    made = known.made
    if make not in made:
        made[make] = make(known.sent)
    found: T = made[make]
    return found
