"""What of a request that came in over another family's API can be sent to a provider: all that means the same there.

What would change the answer's meaning is refused by name; the rest is left out.
"""

from collections.abc import Iterable
from typing import Any

from gateway.providers.interface import Family, Opaque, Options, Part, Unsupported

# Who asks, and how it is billed, cached, stored and sent, not the answer itself. `seed` is best effort.
_DROPPED = frozenset(
    {
        *("user", "safety_identifier", "metadata", "store", "service_tier", "stream_options", "seed"),
        *("prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "cache_control", "betas"),
    }
)
# Neutral values that clients send.
_NEUTRAL: dict[str, tuple[Any, ...]] = {
    "frequency_penalty": (0,),
    "presence_penalty": (0,),
    "logit_bias": ({},),
    "logprobs": (False,),
    "top_logprobs": (0,),
    "modalities": (["text"],),
    "thinking": ({"type": "disabled"},),
}
# Thoughts help only the model that had them, and what was refused is in the message's text too.
_DROPPED_PARTS = frozenset(
    {"thinking", "redacted_thinking", "reasoning", "reasoning_content", "reasoning_details", "refusal"}
)


def fields(options: Options, family: Family) -> dict[str, Any]:
    """The fields of a request that only its own family knows, for a provider of `family`. Raises Unsupported."""
    if options.family == family:
        return options.extra
    for name, value in options.extra.items():
        if value is not None and name not in _DROPPED and value not in _NEUTRAL.get(name, ()):
            raise Unsupported(f"{name} is not supported by the provider of this model.", name)
    return {}


def extra(of: Family | None, given: dict[str, Any], family: Family) -> dict[str, Any]:
    """The other fields of a message or part, for a provider of `family`."""
    return given if of == family else {}


def parts(given: Iterable[Part], family: Family) -> list[Part]:
    """The parts that a provider of `family` understands, without another's thoughts. Raises Unsupported."""
    return [part for part in given if not isinstance(part, Opaque) or part.family == family or not _dropped(part)]


def _dropped(part: Opaque) -> bool:
    """Whether another family's part can be left out. Raises Unsupported."""
    kind = part.raw.get("type")
    if kind in _DROPPED_PARTS or "thoughtSignature" in part.raw:
        return True
    raise Unsupported(f"Parts of type {str(kind)[:100]} are not supported by the provider of this model.", "messages")
