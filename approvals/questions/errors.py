"""Why an answer is refused. Nothing has changed when one of these is raised.

Refused                     the answer's HTTP status, code and words
├── NoSuchQuestion          404 not_found
├── AlreadyAnswered         409 already_answered
├── QuestionExpired         410 question_expired
└── InvalidAnswer           422 invalid_answer
"""

from tenants.errors import Refused


class NoSuchQuestion(Refused):
    """The caller was asked no such question; somebody else's is as unknown as none."""

    status = 404
    code = "not_found"

    def __init__(self, question_id: object):
        super().__init__(f"You have been asked no question {question_id}.")


class AlreadyAnswered(Refused):
    """The question was answered or withdrawn before."""

    status = 409
    code = "already_answered"

    def __init__(self, status: str):
        done = "withdrawn: its call has ended" if status == "cancelled" else "answered before"
        super().__init__(f"This question was {done}. Nothing was sent.")


class QuestionExpired(Refused):
    """The time to answer is over."""

    status = 410
    code = "question_expired"

    def __init__(self, at: object):
        super().__init__(f"This question expired at {at}; its call was told that it was cancelled.")


class InvalidAnswer(Refused):
    """The content is not what was asked for."""

    status = 422
    code = "invalid_answer"
