"""How decisions about calls are read, which the ledger's entries "decided" and "erased" are about, and the questions of
calls to their users, which "answered" is about.

Their tables belong to a package above this one, which registers its queries here when Django starts.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DecisionQueries:
    """SQL over the table of decisions, with psycopg's placeholders.

    A decision's row has every column of the table, among them `id`, `call_id` and what `ledger.decided` takes.
    """

    # The table's name, as findings say it.
    table: str
    # Every decision: `id`, `tenant_id`, `call_id`. No placeholder.
    everything: str
    # Of ids: the rows.
    by_id: str
    # Of ids of calls: the rows in their order. As erasure leaves a row it says whether the decision `counted`, and
    # `unerased` says that there is more in it than erasure leaves.
    of_calls: str
    # Of a tenant and ids of calls, which are about to be erased: the rows in their order, and whether each `counted`.
    before_erasure: str
    # Of a tenant and a call: the rows in their order, each with the `username`, null where the reader may not see it.
    with_usernames: str


@dataclass(frozen=True, slots=True)
class AnswerQueries:
    """SQL over the table of questions, with psycopg's placeholders.

    A question's row has every column of the table, among them `id`, `call_id` and what `ledger.answered` takes.
    """

    # The table's name, as findings say it.
    table: str
    # Every question that was answered or expired: `id`, `tenant_id`, `call_id`. No placeholder.
    everything: str
    # Of ids: the rows.
    by_id: str
    # Of a tenant and a call: the answered and expired rows in their order.
    of_call: str


_registered: list[DecisionQueries] = []
_answers: list[AnswerQueries] = []


def register(queries: DecisionQueries) -> None:
    """Say how decisions are read, in place of what was said before."""
    _registered[:] = [queries]


def queries() -> DecisionQueries:
    """How decisions are read; raises LookupError when no package has said so: nothing is known then."""
    if not _registered:
        raise LookupError("no installed app has registered how decisions are read (audit.calls.decisions)")
    return _registered[0]


def register_answers(queries: AnswerQueries) -> None:
    """Say how questions are read, in place of what was said before."""
    _answers[:] = [queries]


def answers() -> AnswerQueries:
    """How questions are read; raises LookupError when no package has said so: nothing is known then."""
    if not _answers:
        raise LookupError("no installed app has registered how questions are read (audit.calls.decisions)")
    return _answers[0]
