"""To whom a tenant's e-mail goes."""

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from notifications.channels.interface import Accepted
from notifications.errors import InvalidTarget
from notifications.outbox import DECIDING, GROUPS, REQUESTER

HELP = (
    f'"{DECIDING}" (each member who may decide approvals), "{REQUESTER}" (the member whose request or run it is), '
    "or an e-mail address."
)
MAX_ADDRESS = 254


def accept(typed: str) -> Accepted:
    """A group of members, or one address. Raises InvalidTarget."""
    if typed.lower() in GROUPS:
        return Accepted(typed.lower())
    try:
        validate_email(typed)
    except ValidationError:
        typed = ""
    if not 0 < len(typed) <= MAX_ADDRESS:
        raise InvalidTarget(f"Give {HELP}")
    return Accepted(typed)
