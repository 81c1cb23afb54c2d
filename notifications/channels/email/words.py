"""An e-mail's text: that something happened, and where to look; never what is in it."""

from notifications.events import Words


def text(words: Words, url: str) -> str:
    """The body, in paragraphs."""
    return "\n\n".join(filter(None, [words.text, f"{words.link}: {url}", words.closing])) + "\n"
