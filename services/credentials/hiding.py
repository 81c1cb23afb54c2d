"""Taking credentials out of what a service said."""

from collections.abc import Mapping

# A shorter one would be found in any text, and so be taken out of answers that do not hold it.
_LEAST_HIDDEN = 4


def hidden(text: str, headers: Mapping[str, str]) -> str:
    """The text without the credential that the headers hold, should a service have repeated it."""
    for value in headers.values():
        # The token alone first, so that the same is said each time.
        for secret in (value.rpartition(" ")[2], value):
            if len(secret) >= _LEAST_HIDDEN:
                text = text.replace(secret, "[credential]")
    return text
