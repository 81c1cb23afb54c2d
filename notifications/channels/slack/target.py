"""Which channel in Slack: an incoming webhook's URL. Whoever has it can post, so it is a secret."""

from yarl import URL

from notifications.channels.interface import Accepted
from notifications.errors import InvalidTarget
from tools.network import egress

HELP = "the URL of an incoming webhook, such as https://hooks.slack.com/services/…. It is stored encrypted."


def accept(typed: str) -> Accepted:
    """The URL as the secret; its host is what people see of it. Raises InvalidTarget."""
    try:
        url: URL = egress.check(typed)
    except egress.EgressRefused as refused:
        raise InvalidTarget(str(refused)) from None
    if url.path == "/":
        raise InvalidTarget("This is not the URL of an incoming webhook: it has no path.")
    return Accepted(destination=url.host or "", secret=typed)
