"""A message in Slack's markup: a headline, a sentence, and the link."""

from notifications.events import Words

# Slack's three control characters; so no name can be a link, or call for everybody.
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def text(words: Words, url: str) -> str:
    """The message's `text`, in lines."""
    headline, said, link, closing = (
        part.translate(_ESCAPES) for part in (words.headline, words.text, words.link, words.closing)
    )
    return "\n".join(filter(None, [f"*{headline}*", said, f"<{url.translate(_ESCAPES)}|{link}>", closing]))
