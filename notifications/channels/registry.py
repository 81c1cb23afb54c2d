"""Every channel there is: a new one is a folder beside these, and a line here."""

from notifications.channels import email, slack, webhook
from notifications.channels.interface import Channel

_CHANNELS: dict[str, Channel] = {}


def register(channel: Channel) -> None:
    """Offer a channel in the admin, and deliver by it. Raises ValueError when its slug is taken."""
    if _CHANNELS.setdefault(channel.slug, channel) is not channel:
        raise ValueError(f"two channels are called {channel.slug}")


def channels() -> list[Channel]:
    """All channels, in the order of their registration."""
    return list(_CHANNELS.values())


def find(slug: str) -> Channel | None:
    """The channel with this slug."""
    return _CHANNELS.get(slug)


register(email.CHANNEL)
register(webhook.CHANNEL)
register(slack.CHANNEL)
