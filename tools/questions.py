"""What a tool asks the user of its call, and what they answer: a call that needs that stops, and is executed again."""

from dataclasses import dataclass
from typing import Any, Literal

Action = Literal["accept", "decline", "cancel"]


@dataclass(frozen=True, slots=True)
class Question:
    """One question: words, and either the JSON Schema of the answer (an object), or a page that the user is to visit,
    or a `request` to the MCP client that made the call, `{"method", "params"}`, whose answer is the request's result.

    `key` names it among the questions that are asked together; the answer comes back under it.
    """

    key: str
    message: str
    schema: dict[str, Any] | None = None
    url: str | None = None
    request: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What the user did about a question. Only what is accepted has `content`, and only where a schema was given.

    A question that nobody answered in time counts as cancelled.
    """

    action: Action
    content: dict[str, Any] | None = None


class InputRequired(Exception):
    """Raised by `Tool.execute`: the call stops here, and is executed again, from its start, with the answers.

    `state` is any JSON value; the next execution gets it back, and nobody else does.
    """

    def __init__(self, questions: tuple[Question, ...], state: Any = None):
        super().__init__(f"{len(questions)} questions")
        self.questions = questions
        self.state = state
