"""What a server asks the user of a call, in both manners of the protocol, as questions that outlive the worker.

2026-07-28      the result says `input_required`, and the same request is sent again with the answers
older ones      the server asks on the stream of its answer: where no answer is known yet, the request is cancelled, and
                the tool is called again from its start, with the answer ready when it asks again. What it had done
                until it asked is then done twice, so this is only for tools that an owner calls idempotent; of any
                other the server is told that nobody answers.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from audit.canonical import NotCanonical, sha256_hex
from services.mcp.errors import INPUT_NEEDED, METHOD_NOT_FOUND, Malformed, Rejected
from services.mcp.exchange import Message
from tools.interface import ToolContext
from tools.questions import Answer, InputRequired, Question

# How often a server may want the same request again without asking anything.
_ROUNDS = 10
_MESSAGE = 4000


class Questions:
    """The answers that a call has so far, and what its server asks beyond them."""

    def __init__(self, ctx: ToolContext, *, repeatable: bool):
        self._repeatable = repeatable
        # Whether the server was told that nobody answers.
        self.unanswered = False
        state = ctx.state if isinstance(ctx.state, dict) else {}
        # Of the result that asked; None for the older manner.
        self._asked_by: Message | None = state.get("asked_by")
        # By what was asked: a server of an older revision asks everything again.
        self._answers: dict[str, Message] = dict(state.get("answers") or {})
        self._last = {key: _as_sent(answer) for key, answer in ctx.answers.items()}
        self._answers |= self._last

    def more(self) -> Message:
        """What a request is sent with in addition."""
        return {} if self._asked_by is None else {**self._asked_by, "inputResponses": self._last}

    def again(self, result: Message) -> Message:
        """What the request is sent again with, where its result wants that and asks nothing.

        Raises InputRequired where it asks something, and Malformed for what nobody here can answer.
        """
        asked = result.get("inputRequests") or {}
        state = result.get("requestState")
        if not isinstance(asked, dict) or not (state is None or isinstance(state, str)):
            raise Malformed("It asks for input in a form that Toolgate does not know.")
        more = {} if state is None else {"requestState": state}
        if asked:
            raise InputRequired(tuple(_question(key, each) for key, each in asked.items()), {"asked_by": more})
        return more

    def visits(self, rejected: Rejected) -> InputRequired | Rejected:
        """The pages that a server of an older revision wants its user to visit before it does anything."""
        data = rejected.data if isinstance(rejected.data, dict) else {}
        listed = data.get("elicitations")
        # Asked once: who has been there, or would not go, is not sent there again.
        if rejected.code != INPUT_NEEDED or not isinstance(listed, list) or not listed or self._answers:
            return rejected
        asked = [{"method": "elicitation/create", "params": each} for each in listed]
        questions = tuple(_question(f"page-{number}", each) for number, each in enumerate(asked))
        return InputRequired(questions, {"answers": self._answers})

    async def answer(self, method: str, params: Message) -> Message:
        """The answer to what a server asks on its stream; raises InputRequired where there is none yet."""
        if method != "elicitation/create":
            raise Rejected(METHOD_NOT_FOUND, f"{method} is not offered here.")
        try:
            key = sha256_hex({name: value for name, value in params.items() if name not in ("_meta", "elicitationId")})
        except NotCanonical:
            raise Malformed("It asks for input in a form that Toolgate does not know.") from None
        if key in self._answers:
            return self._answers[key]
        if not self._repeatable:
            self.unanswered = True
            return {"action": "cancel"}
        raise InputRequired((_question(key, {"method": method, "params": params}),), {"answers": self._answers})


async def until_complete(ask: Callable[[Message], Awaitable[Message]], questions: Questions) -> Message:
    """The result of a request that a server may want again before it has one. Raises InputRequired."""
    more = questions.more()
    for _ in range(_ROUNDS):
        try:
            result = await ask(more)
        except Rejected as rejected:
            raise questions.visits(rejected) from None
        if result.get("resultType") != "input_required":
            return result
        more = questions.again(result)
    raise Malformed(f"It wanted the same request more than {_ROUNDS} times.")


def _as_sent(answer: Answer) -> Message:
    return {"action": answer.action} | ({"content": answer.content} if answer.content is not None else {})


def _question(key: Any, asked: Any) -> Question:
    params: Any = asked.get("params") if isinstance(asked, dict) else None
    if not isinstance(params, dict) or asked.get("method") != "elicitation/create":
        raise Malformed("It asks for something that Toolgate does not give: only its user can be asked.")
    message, url, schema = params.get("message"), params.get("url"), params.get("requestedSchema")
    words = message[:_MESSAGE] if isinstance(message, str) else ""
    if params.get("mode") == "url" and isinstance(url, str):
        return Question(str(key), words, url=url)
    if not isinstance(schema, dict):
        raise Malformed("It asks its user something without saying what an answer is.")
    return Question(str(key), words, schema=schema)
