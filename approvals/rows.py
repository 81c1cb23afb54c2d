"""The row of an approval request as it is read and opened."""

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
