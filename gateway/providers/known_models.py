"""The models that are known of each provider without asking it: what its SDK names, or a short list of ours."""

import functools
import typing

# Google's SDK names none as generally available. These names are stable aliases of changing versions.
GEMINI = (
    "gemini-pro-latest",
    "gemini-flash-latest",
    "gemini-flash-lite-latest",
    "gemini-2.5-pro",
    "gemini-2.5-flash",
    "gemini-2.5-flash-lite",
)


@functools.cache
def of(provider: str) -> tuple[str, ...]:
    """The known models of a provider, as the provider names them; imports its SDK, so call it off the event loop."""
    if provider == "openai":
        from openai.types import ChatModel

        return _texts(ChatModel)
    if provider == "anthropic":
        from anthropic.types import Model

        return _texts(Model)
    return GEMINI if provider == "gemini" else ()


def _texts(named: typing.Any) -> tuple[str, ...]:
    """The texts in a Literal, and in the Literals of a Union."""
    found: list[str] = []
    for each in typing.get_args(named):
        found += [each] if isinstance(each, str) else _texts(each)
    return tuple(dict.fromkeys(found))
