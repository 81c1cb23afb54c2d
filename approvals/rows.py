"""The rows of approval requests and questions as they are read and opened."""

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A row of `approval_requests`; `approvals.models.ApprovalRequest` says what the columns mean.

    Those without a default are what a request is opened with.
    """

    id: uuid.UUID
    tenant_id: uuid.UUID
    user_id: uuid.UUID
    call_id: uuid.UUID
    run_id: uuid.UUID | None
    conversation_id: uuid.UUID | None
    agent: str
    tool_name: str
    tier: str
    why: str
    context: list[dict[str, Any]]
    schema_hash: str
    params_hash: str
    approvals_needed: int
    created_at: datetime
    expires_at: datetime
    status: str = "pending"
    revision: int = 1
    approved_by: list[uuid.UUID] | None = None
    decided_at: datetime | None = None
    usable_until: datetime | None = None
    used_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A row of `questions`; `approvals.models.Question` says what the columns mean.

    Those without a default are what a question is asked with.
    """

    id: uuid.UUID
    tenant_id: uuid.UUID
    user_id: uuid.UUID
    call_id: uuid.UUID
    run_id: uuid.UUID | None
    conversation_id: uuid.UUID | None
    tool_name: str
    binding: str
    round: int
    position: int
    key: str
    message: str
    schema: dict[str, Any] | None
    url: str | None
    request: dict[str, Any] | None
    question_hash: str
    state: str | None
    created_at: datetime
    expires_at: datetime
    status: str = "pending"
    action: str | None = None
    content: dict[str, Any] | None = None
    content_hash: str | None = None
    via: str | None = None
    answered_at: datetime | None = None
    ready_at: datetime | None = None
    used_at: datetime | None = None
