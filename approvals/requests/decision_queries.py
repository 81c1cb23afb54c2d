"""Decisions as the ledger's checks, receipts and erasures read them."""

from approvals.requests.erasure import COUNTED
from audit.calls import decisions

decisions.register(
    decisions.DecisionQueries(
        table="approval_decisions",
        everything="SELECT id, tenant_id, call_id FROM approval_decisions",
        by_id="SELECT * FROM approval_decisions WHERE id = ANY(%s::uuid[])",
        of_calls="""
            SELECT d.*, d.params_hash = '' AS counted,
                d.reason <> '' OR d.edit <> 'null' OR d.params_hash NOT IN ('', d.id::text) AS unerased
            FROM approval_decisions d WHERE d.call_id = ANY(%s::uuid[]) ORDER BY d.id""",
        before_erasure=f"""
            SELECT d.*, {COUNTED} AS counted FROM approval_decisions d JOIN approval_requests r ON r.id = d.request_id
            WHERE r.tenant_id = %s AND r.call_id = ANY(%s) ORDER BY d.id""",
        with_usernames="""
            SELECT d.*, u.username FROM approval_decisions d LEFT JOIN users u ON u.id = d.user_id
            WHERE d.tenant_id = %s AND d.call_id = %s ORDER BY d.id""",
    )
)
