"""The row of a tool call as the recorder writes it and everybody reads it."""

import uuid
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A row of `tool_calls`; `audit.models.ToolCall` says what the columns mean.

    Those with a default are what a call has got only once it has run, or waited for a human, or only if it has a run.
    """

    id: uuid.UUID
    tenant_id: uuid.UUID
    user_id: uuid.UUID
    origin: str
    conversation_id: uuid.UUID | None
    message_id: uuid.UUID | None
    run_id: uuid.UUID | None
    turn: int | None
    position: int
    tool_name: str
    tier: str | None
    input: Any
    input_raw: str | None
    params_hash: str | None
    decision: list[dict[str, Any]]
    time_limit_ms: int
    status: str
    created_at: datetime
    # None once the payload has been erased: the key goes with it, and nothing else takes the key away.
    row_key: bytes | None
    approval_id: uuid.UUID | None = None
    approved_input: Any = None
    approved_params_hash: str | None = None
    resumed_decision: list[dict[str, Any]] | None = None
    output: Any = None
    output_bytes: int | None = None
    output_hash: str | None = None
    display: str = ""
    error_code: str | None = None
    error_message: str | None = None
    error_field: str | None = None
    side_effects: list[dict[str, Any]] = field(default_factory=list)
    attempt: int = 0
    fence: int = 0
    execution_time_ms: int | None = None
    queued_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    lease_until: datetime | None = None
    agent: str | None = None
    model: str | None = None
    waits_on_run: uuid.UUID | None = None

    @property
    def asks_user(self) -> bool:
        """Whether the call has begun, and stopped to wait for its user's answer: no worker has it."""
        return self.status == "running" and self.lease_until is None and self.waits_on_run is None

    @property
    def waits_for_child(self) -> bool:
        """Whether the call has begun a run, and ends when that does: no worker has it."""
        return self.status == "running" and self.waits_on_run is not None

    @property
    def final(self) -> bool:
        """Whether the call has ended; nothing about it changes after that."""
        return self.status in ("success", "error")

    @property
    def wake_up_id(self) -> uuid.UUID:
        """What wake-ups name when the call has changed: its run, or the call itself where no run waits for it."""
        return self.run_id or self.id

    @property
    def arguments(self) -> Any:
        """What the call runs with: the model's arguments, or those that an approver put in their place."""
        return self.input if self.approved_input is None else self.approved_input
