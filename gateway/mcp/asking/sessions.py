"""The name that a client of the revisions with `initialize` gets there and repeats: nothing is stored under it.

It tells two clients with the same key apart, and says what the client has declared there that it can be asked.
"""

import secrets
from collections.abc import Mapping
from typing import Any

ELICITATION, URLS, SAMPLING, ROOTS = "e", "u", "s", "r"


def new(params: Mapping[str, Any]) -> bytes:
    """A new name, for a client that sends these `params` of `initialize`."""
    declared = params.get("capabilities")
    letters = letters_of(declared if isinstance(declared, dict) else {})
    return f"{secrets.token_urlsafe(24)}.{''.join(sorted(letters))}".encode()


def declared(name: str) -> frozenset[str]:
    """What the client of that name has declared."""
    return frozenset(name.rpartition(".")[2]) if "." in name else frozenset()


def letters_of(capabilities: Mapping[str, Any]) -> frozenset[str]:
    """What of a client's capabilities lets it be asked."""
    elicitation = capabilities.get("elicitation")
    manners: Mapping[str, Any] = elicitation if isinstance(elicitation, Mapping) else {}
    asks = isinstance(elicitation, Mapping)
    found = {
        SAMPLING: isinstance(capabilities.get("sampling"), Mapping),
        ROOTS: isinstance(capabilities.get("roots"), Mapping),
        # One that names neither manner is of a time when there were forms alone.
        ELICITATION: asks and ("form" in manners or "url" not in manners),
        URLS: "url" in manners,
    }
    return frozenset(letter for letter, said in found.items() if said)
