"""Where a tenant's webhook leads, and the secret that it is signed with."""

from notifications.channels.interface import Accepted
from notifications.channels.webhook import signature
from notifications.errors import InvalidTarget
from tools.network import egress

HELP = "the URL of your endpoint. The secret that messages are signed with is made here, and shown once."


def accept(typed: str) -> Accepted:
    """A URL that nothing in it forbids; where its name leads is seen at each delivery. Raises InvalidTarget."""
    try:
        egress.check(typed)
    except egress.EgressRefused as refused:
        raise InvalidTarget(str(refused)) from None
    return Accepted(typed, signature.new_secret(), shown_once=True)
