"""Answers as the ledger's checks and receipts read them."""

from audit.calls import decisions

# A question that was withdrawn has no entry: that its call has ended says so.
_ENDED = "status IN ('answered', 'expired')"

decisions.register_answers(
    decisions.AnswerQueries(
        table="questions",
        everything=f"SELECT id, tenant_id, call_id FROM questions WHERE {_ENDED}",
        by_id="SELECT * FROM questions WHERE id = ANY(%s::uuid[])",
        of_call=f"SELECT * FROM questions WHERE tenant_id = %s AND call_id = %s AND {_ENDED} ORDER BY id",
    )
)
