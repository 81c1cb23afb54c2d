"""Where people decide and answer: the addresses of a request's and a question's own pages."""

import uuid

from django.conf import settings


def path_of(request_id: uuid.UUID) -> str:
    """The path of one request's page."""
    return f"/approvals/{request_id}/"


def question_path_of(question_id: uuid.UUID) -> str:
    """The path of the page where one question is answered."""
    return f"/questions/{question_id}/"


def page_of(request_id: uuid.UUID) -> str:
    """The absolute URL of one request's page; whoever is logged out reaches it through the log-in page."""
    return f"{settings.PUBLIC_URL}{path_of(request_id)}"
