"""What MCP clients answer to questions of their user's calls, in the three places where they do.

2026-07-28        `inputResponses` of a request that is sent again; of `tasks/update`
with initialize   a response to the request that the call's stream had, whose id is the question's
"""

import logging
import uuid
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from approvals.questions import answering
from approvals.questions.errors import AlreadyAnswered, InvalidAnswer, NoSuchQuestion, QuestionExpired
from approvals.rows import AskedQuestion
from gateway.mcp.messages import Message
from tenants.scope.transactions import TenantScope

log = logging.getLogger(__name__)


async def take(caller: TenantScope, message: Message) -> None:
    """Take a response of the client's; one to nothing that we asked, or that comes too late, is passed over."""
    try:
        question_id = uuid.UUID(str(message.id))
    except ValueError:
        return
    with suppress(NoSuchQuestion, AlreadyAnswered, QuestionExpired):
        asked = await answering.look(caller, question_id)
        try:
            await _answer(caller, asked, message.result)
        except InvalidAnswer as invalid:
            # There is no request to answer with that: the client is told nothing, and its user answers elsewhere.
            log.info("answer of an MCP client not taken", extra={"question": str(question_id), "why": invalid.detail})


async def take_all(caller: TenantScope, asked: list[AskedQuestion], given: Mapping[str, Any]) -> None:
    """Take the responses to these questions, by their keys; others, and what makes no sense, are passed over."""
    for question in asked:
        if question.status == "pending" and isinstance(given.get(question.key), dict):
            with suppress(NoSuchQuestion, AlreadyAnswered, QuestionExpired, InvalidAnswer):
                await _answer(caller, question, given[question.key])


async def _answer(caller: TenantScope, question: AskedQuestion, given: dict[str, Any] | None) -> None:
    """One response; None is a refusal. Raises what `answering.answer` does."""
    if given is None:
        action, content = "cancel", None
    elif question.request is not None:
        action, content = "accept", given
    else:
        action, content = str(given.get("action")), given.get("content")
        if action != "accept" or question.url is not None:
            # Clients send an empty object there.
            content = None
    await answering.answer(caller, question.id, action, content, via="mcp")
