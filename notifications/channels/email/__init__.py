"""E-mail over the operator's mail server: to members who decide, to the member concerned, or to an address."""

from notifications.channels.email import delivery, target
from notifications.channels.interface import Channel

CHANNEL = Channel(slug="email", label="E-mail", help=target.HELP, accept=target.accept, deliver=delivery.deliver)
