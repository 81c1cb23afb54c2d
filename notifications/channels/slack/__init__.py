"""Slack, by an incoming webhook of a channel there; Mattermost and others take the same messages.

Source: https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks
"""

from notifications.channels.interface import Channel
from notifications.channels.slack import delivery, target

CHANNEL = Channel(
    slug="slack", label="Slack", help=target.HELP, accept=target.accept, deliver=delivery.deliver, typed_is_secret=True
)
