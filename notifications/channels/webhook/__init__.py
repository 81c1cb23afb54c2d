"""Webhooks to a tenant's own endpoint, signed as the Standard Webhooks specification 1.0.0 says.

Source: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

from notifications.channels.interface import Channel
from notifications.channels.webhook import delivery, target

CHANNEL = Channel(slug="webhook", label="Webhook", help=target.HELP, accept=target.accept, deliver=delivery.deliver)
