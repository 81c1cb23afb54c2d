"""Where people decide: the address of a request's own page."""

import uuid

from django.conf import settings


def page_of(request_id: uuid.UUID) -> str:
    """The absolute URL of one request's page; whoever is logged out reaches it through the log-in page."""
    return f"{settings.PUBLIC_URL}/approvals/{request_id}/"
