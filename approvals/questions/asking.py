"""What workers do with a call that asks its user: see `tools.invocation.ports.Questions`."""

import json
import uuid
from datetime import UTC, datetime, timedelta
from typing import cast

from approvals.questions import events, repository
from approvals.rows import AskedQuestion
from audit.calls import begun, recorder
from audit.calls.recorder import Failure, Outcome
from audit.calls.rows import ToolCall
from audit.canonical import sha256_hex
from audit.identifiers import uuid7
from tenants.people import encryption
from tenants.scope.transactions import Connection, TenantScope, transaction
from tools.invocation import ports
from tools.invocation.ports import Answered
from tools.questions import Action, Answer, InputRequired, Question

# How long a question waits before it counts as cancelled.
HOURS = 24
# How often one call may ask.
MOST_ROUNDS = 10


async def ask(call: ToolCall, binding: str, required: InputRequired) -> None:
    """Park a running call, and write what it asks; or end it, where nobody can be asked."""
    async with transaction(TenantScope(call.tenant_id, call.user_id)) as connection:
        before = await repository.last_of(connection, call.id)
        failure = await _hopeless(connection, call, before)
        if failure is not None:
            await begun.settle(connection, call, Outcome(failure=failure, display=failure.display))
            return
        if not await recorder.park(connection, call):
            return
        questions = _rows(call, binding, required, before[0].round + 1 if before else 1)
        await repository.ask(connection, questions)
        written = await events.write(connection, questions)
    await events.publish(written)


async def _hopeless(connection: Connection, call: ToolCall, before: list[AskedQuestion]) -> Failure | None:
    """Why the call cannot ask, if so."""
    if call.run_id is not None and not await ports.is_open(connection, call.run_id):
        why = f"{call.tool_name} asked its user for something after its run had ended; nobody was asked."
        return Failure("cancelled", why, display=why)
    if any(question.status == "expired" for question in before):
        why = f"{call.tool_name} asked its user, nobody answered in time, and it asks again. It was stopped."
        return Failure("cancelled", why, display=why)
    if before and before[0].round >= MOST_ROUNDS:
        why = f"{call.tool_name} has asked its user {MOST_ROUNDS} times in one call; it was stopped."
        return Failure("execution_error", why, display=why)
    return None


def _rows(call: ToolCall, binding: str, required: InputRequired, round_: int) -> list[AskedQuestion]:
    now = datetime.now(UTC)
    state = None if required.state is None else encryption.encrypt(json.dumps(required.state))

    def hashed(each: Question) -> str:
        return sha256_hex({name: getattr(each, name) for name in ("key", "message", "schema", "url", "request")})

    return [
        AskedQuestion(
            id=uuid7(),
            tenant_id=call.tenant_id,
            user_id=call.user_id,
            call_id=call.id,
            run_id=call.run_id,
            conversation_id=call.conversation_id,
            tool_name=call.tool_name,
            binding=binding,
            round=round_,
            position=position,
            key=each.key,
            message=each.message,
            schema=each.schema,
            url=each.url,
            request=each.request,
            question_hash=hashed(each),
            state=state if position == 0 else None,
            created_at=now,
            expires_at=now + timedelta(hours=HOURS),
        )
        for position, each in enumerate(required.questions)
    ]


async def answered(scope: TenantScope, call_id: uuid.UUID) -> Answered | None:
    """What the user answered to the call's last round; None for a call that has asked nothing."""
    async with transaction(scope) as connection:
        round_ = await repository.last_of(connection, call_id)
    if not round_ or round_[0].used_at is None:
        return None
    # What nobody has answered in time was cancelled.
    answers = {each.key: Answer(cast(Action, each.action or "cancel"), each.content) for each in round_}
    state = round_[0].state
    return Answered(answers, None if state is None else json.loads(encryption.decrypt(state)))


class QuestionPorts:
    """See `tools.invocation.ports.Questions`."""

    async def ask(self, call: ToolCall, binding: str, required: InputRequired) -> None:
        """In one commit."""
        await ask(call, binding, required)

    async def answered(self, scope: TenantScope, call_id: uuid.UUID) -> Answered | None:
        """Out of its last round."""
        return await answered(scope, call_id)

    async def withdraw(self, connection: Connection, call_id: uuid.UUID) -> None:
        """In the commit that ends the call."""
        await repository.withdraw_alone(connection, call_id)
