"""How names that people give their own things are compared."""

import unicodedata


def folded(name: str) -> str:
    """A name as names are compared: another case, other white space or another Unicode form make no other name."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())
