"""Which models take pictures and documents, and a prompt as a model that does not can take it."""

from dataclasses import replace

from django.conf import settings

from gateway.providers.interface import Document, Image, Part, Prompt, PromptMessage, Text, Unsupported, UserMessage
from gateway.providers.patterns import matches

NAMES = {
    "image/png": "PNG picture",
    "image/jpeg": "JPEG picture",
    "image/gif": "GIF picture",
    "image/webp": "WebP picture",
    "application/pdf": "PDF",
}
EVERY = frozenset(NAMES)
# Of a kind of API; the others take every type.
_TAKEN = {"gemini": EVERY - {"image/gif"}}
# By their kind and the vendor's own name. What a model of a server that nobody knows takes is its operator's to say.
_TEXT_ONLY = (
    *(
        "openai/gpt-3.5*",
        "openai/gpt-4",
        "openai/gpt-4-0*",
        "openai/gpt-4-1106*",
        "openai/o1-mini*",
        "openai/o1-preview*",
    ),
    *("openai/o3-mini*", "openai/gpt-oss*", "anthropic/claude-2*", "anthropic/claude-instant*"),
)


def taken(name: str, kind: str) -> frozenset[str]:
    """The media types that a model takes beside text: `name` is "provider/model", `kind` whose API it speaks."""
    of_kind = f"{kind}/{name.partition('/')[2]}"
    if any(matches(pattern, of_kind) for pattern in _TEXT_ONLY):
        return frozenset()
    if any(matches(pattern, name) for pattern in settings.TOOLGATE_TEXT_MODELS):
        return frozenset()
    return _TAKEN.get(kind, EVERY)


def fitted(prompt: Prompt, name: str, kind: str) -> Prompt:
    """The prompt with a line of text in the place of what the model does not take, in messages before the user's last.

    Raises Unsupported where the last one holds such a part: the model would answer without what it is asked about.
    """
    if not any(getattr(message, "parts", None) for message in prompt.messages):
        return prompt
    takes = taken(name, kind)
    last = max((at for at, each in enumerate(prompt.messages) if isinstance(each, UserMessage)), default=-1)
    messages: list[PromptMessage] = []
    for at, message in enumerate(prompt.messages):
        refused = [part for part in message.parts if not _takes(part, takes)]
        if refused and at >= last:
            raise Unsupported(
                f"The model {name} does not take a {_named(refused[0])}. Choose a model that does, or send the message "
                "without it.",
                "messages",
            )
        if refused:
            parts = tuple(part if _takes(part, takes) else Text(_instead(part)) for part in message.parts)
            message = replace(message, parts=parts)
        messages.append(message)
    return replace(prompt, messages=tuple(messages))


def _takes(part: Part, takes: frozenset[str]) -> bool:
    if isinstance(part, Image) and part.url:
        # Its type is not known.
        return bool(takes)
    return not isinstance(part, Image | Document) or part.media_type in takes


def _named(part: Part) -> str:
    media_type = part.media_type if isinstance(part, Image | Document) else ""
    return NAMES.get(media_type, media_type or "picture")


def _instead(part: Part) -> str:
    name = f" {part.name}" if isinstance(part, Document) and part.name else ""
    return f"[A {_named(part)}{name} was here. This model does not take it, so it is left out.]"
