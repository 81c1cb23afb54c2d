"""The rows of runs and turns as they are read, and what is written of them."""

import re
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from datetime import datetime
from operator import attrgetter
from typing import Any

import orjson

from audit.calls.rows import ToolCall
from audit.identifiers import uuid4
from gateway.providers.interface import Answer, SuggestedCall
from tenants.scope import rows
from tools.invocation import naming

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    """A model's text as PostgreSQL can keep it: NUL and lone surrogates become U+FFFD."""
    return _UNSTORABLE.sub("\ufffd", text)


@dataclass(frozen=True, slots=True)
class Run:
    """A row of `runs`; `gateway.models.Run` says what the columns mean.

    `created_at` is None for a run that this process has just begun, whose row it has not read back.
    """

    id: uuid.UUID
    tenant_id: uuid.UUID
    user_id: uuid.UUID
    conversation_id: uuid.UUID
    message_id: uuid.UUID
    profile: dict[str, Any]
    model: str
    surface: str
    status: str = "in_progress"
    incomplete_reason: str | None = None
    error_code: str | None = None
    error_message: str | None = None
    error_status: int | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    turns: int = 0
    fence: int = 1
    request_hash: bytes | None = None
    created_at: datetime | None = None
    finished_at: datetime | None = None
    budgeted: bool = False
    parent_run_id: uuid.UUID | None = None
    parent_call_id: uuid.UUID | None = None
    root_run_id: uuid.UUID | None = None
    depth: int = 0
    kind: str = "main"


# What a commit under its driver's fence may change of a run's row; nobody changes the other columns.
CHANGING = (
    *("status", "incomplete_reason", "error_code", "error_message", "error_status"),
    *("input_tokens", "output_tokens", "turns", "created_at", "finished_at", "budgeted"),
)
_LASTING = tuple(each.name for each in fields(Run) if each.name not in CHANGING)
_lasting = attrgetter(*_LASTING)


def changed(run: Run, columns: Iterable[Any]) -> Run:
    """The run's new row, of which `columns` are those CHANGING."""
    return Run(**dict(zip(_LASTING, _lasting(run), strict=True)), **dict(zip(CHANGING, columns, strict=True)))


@dataclass(frozen=True, slots=True)
class NewRun:
    """What a run begins with: its row, the user's message, and the conversation's title, should that begin too.

    `lease` is in seconds; `priced`: its model has a price.
    """

    id: uuid.UUID
    tenant_id: uuid.UUID
    user_id: uuid.UUID
    conversation_id: uuid.UUID
    message_id: uuid.UUID
    user_message_id: uuid.UUID
    agent_id: uuid.UUID | None
    profile: dict[str, Any]
    model: str
    surface: str
    lease: int
    idempotency_key: str | None
    request_hash: bytes | None
    content: str
    title: str
    key_id: uuid.UUID | None = None
    priced: bool = True

    def begun(self, budgeted: bool = False) -> Run:
        """The run's row once it is written."""
        return Run(
            self.id,
            self.tenant_id,
            self.user_id,
            self.conversation_id,
            self.message_id,
            self.profile,
            self.model,
            self.surface,
            request_hash=self.request_hash,
            budgeted=budgeted,
        )


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How a run ends: `content` is the assistant's message, `error_status` an HTTP status."""

    status: str
    content: str
    incomplete_reason: str | None = None
    error_code: str | None = None
    error_message: str | None = None
    error_status: int | None = None

    @classmethod
    def failed(cls, code: str, message: str, http_status: int) -> "RunEnd":
        """The end of a run that came to nothing."""
        return cls("failed", "", None, code, message, http_status)


@dataclass(frozen=True, slots=True)
class Turn:
    """A row of `turns`; `gateway.models.Turn` says what the columns mean."""

    run_id: uuid.UUID
    number: int
    attempt: int
    text: str
    calls: int
    finish_reason: str
    input_tokens: int
    output_tokens: int
    latency_ms: int
    more: str | None
    suspensions: int
    created_at: datetime

    @property
    def details(self) -> dict[str, Any]:
        """What the answer held beside text and managed calls."""
        return _details(self.more)


@dataclass(frozen=True, slots=True)
class TurnValues:
    """A model's answer as it is written: the columns of `turns`."""

    turn_id: uuid.UUID
    attempt: int
    text: str
    calls: int
    finish_reason: str
    input_tokens: int
    output_tokens: int
    latency_ms: int
    more: str | None
    usage: dict[str, Any]

    @classmethod
    def of(
        cls,
        answer: Answer,
        attempt: int,
        latency_ms: int,
        usage: dict[str, Any],
        client_calls: tuple[SuggestedCall, ...] = (),
        family: str = "",
        left_out: tuple[tuple[int, SuggestedCall], ...] = (),
        failed: tuple[tuple[str, str], ...] = (),
        model: str = "",
    ) -> "TurnValues":
        """The turn of an answer whose `calls` are managed; `client_calls` go back to the client, and those `left_out`
        to nobody. `usage` is what `gateway.budgets.reservations.used` makes of it. `model` answered where it is not the
        run's, after those that `failed`, each with why."""
        return cls(
            turn_id=uuid4(),
            attempt=attempt,
            text=answer.text,
            calls=len(answer.calls),
            finish_reason=answer.finish_reason,
            input_tokens=answer.usage.input_tokens,
            output_tokens=answer.usage.output_tokens,
            latency_ms=latency_ms,
            more=_more(answer, client_calls, family, left_out, failed, model),
            usage=usage,
        )

    @property
    def details(self) -> dict[str, Any]:
        """What the answer holds beside text and managed calls."""
        return _details(self.more)


def _details(more: str | None) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(more) if more else {}
    return found


def _more(
    answer: Answer,
    client_calls: tuple[SuggestedCall, ...],
    family: str,
    left_out: tuple[tuple[int, SuggestedCall], ...],
    failed: tuple[tuple[str, str], ...],
    model: str,
) -> str | None:
    """What an answer holds beside text and managed calls, as the JSON text that `turns.more` keeps; None is nothing."""
    more = {
        "opaque": [[part.family, part.raw] for part in answer.opaque],
        "client_calls": [[call.id, call.name, call.arguments, call.family, call.extra] for call in client_calls],
        "left_out": [[at, *map(_plain, (call.id, call.name, call.arguments))] for at, call in left_out],
        # The places of calls that the model made through tools_call.
        "through": [at for at, call in enumerate(answer.calls) if naming.named(call.name, call.arguments)],
        "stop_sequence": answer.stop_sequence,
        "extra": answer.extra,
        "family": family if answer.extra else None,
        "cached_tokens": answer.usage.cached_tokens,
        "reasoning_tokens": answer.usage.reasoning_tokens,
        "model": model,
        "failed": failed,
    }
    kept = {name: value for name, value in more.items() if value}
    return orjson.dumps(kept).decode() if kept else None


def _plain(text: str) -> str:
    """The text without lone surrogates, which JSON cannot carry."""
    return text.encode("utf-8", "backslashreplace").decode()


@dataclass(frozen=True, slots=True)
class RunCall(ToolCall):
    """A call of a run, with the state of the request that it waits or waited for, where that was asked for.

    `questions` is what a call asks its user that has not gone on: [{id, tool, message, schema, url, expires_at,
    status}]. `version` is of the tenant's rights when the call was read, where that was asked for.
    """

    conversation_id: uuid.UUID
    message_id: uuid.UUID
    run_id: uuid.UUID
    turn: int
    approval_status: str | None = None
    approval_expires_at: datetime | None = None
    approval_used_at: datetime | None = None
    questions: list[dict[str, Any]] | None = None
    version: uuid.UUID | None = None

    @property
    def pending_questions(self) -> list[dict[str, Any]]:
        """Those that its user has not answered."""
        return [each for each in self.questions or () if each["status"] == "pending"]

    @property
    def answered(self) -> bool:
        """Whether it may go on, since its user has answered everything."""
        return bool(self.questions) and not self.pending_questions

    @classmethod
    def of(cls, call: ToolCall) -> "RunCall":
        """A call as it was recorded, of which nothing has been asked since."""
        return cls(**rows.values(call))


@dataclass(frozen=True, slots=True)
class PastRun:
    """An earlier run of a conversation, and what the user, or unless `by_person` another run, said to begin it;
    `attachments` are versions of files that this refers to."""

    id: uuid.UUID
    content: str
    by_person: bool = True
    attachments: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class PastTurn:
    """A turn of an earlier run."""

    run_id: uuid.UUID
    number: int
    text: str
