"""Reading approval requests: the queue as REST, the socket, the pages and the admin show it."""

import re
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Exists, OuterRef, Prefetch, Q, QuerySet, Subquery

from approvals.models import ApprovalDecision, ApprovalRequest
from audit.identifiers import first_id_at
from audit.models import ToolCall
from tenants.models import Membership, User
from tenants.people.principal import DECIDERS, Principal
from tenants.scope import transactions

Status = ApprovalRequest.Status
UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_AGE = re.compile(r"([0-9]{1,9})([smhd]?)")
# An id is made a moment before its row, perhaps by another machine's clock.
_SLACK = timedelta(minutes=1)


def visible() -> QuerySet[ApprovalRequest]:
    """The requests within the scope, newest first, each with all that `body` reads: two queries a page.

    A request has `input`, `approved_input` and `gates` (each gate's answer) of its call, and `username` of who asked.
    A decision has `username`, and `may_decide`: whether its author may decide now. A name is None once its bearer has
    left the tenant.
    """
    username = User.objects.filter(id=OuterRef("user_id")).order_by().values("username")
    call = ToolCall.objects.filter(id=OuterRef("call_id")).order_by()
    deciders = Membership.objects.filter(
        tenant_id=OuterRef("tenant_id"), user_id=OuterRef("user_id"), role__in=DECIDERS, user__is_active=True
    )
    decisions = ApprovalDecision.objects.annotate(username=Subquery(username), may_decide=Exists(deciders))
    return (
        ApprovalRequest.objects.annotate(
            input=Subquery(call.values("input")),
            approved_input=Subquery(call.values("approved_input")),
            gates=Subquery(call.values("decision")),
            username=Subquery(username),
        )
        .prefetch_related(Prefetch("decisions", decisions.order_by("id")))
        .order_by("-id")
    )


def narrowed(
    requests: QuerySet[ApprovalRequest],
    *,
    status: str = "",
    tool: str = "",
    user: str = "",
    older_than: timedelta | None = None,
) -> QuerySet[ApprovalRequest]:
    """The requests of a status as `status_of` tells it, of a tool, of a user (id or username), and of an age."""
    if "\x00" in status + tool + user:
        # PostgreSQL has no such text.
        return requests.none()
    if status:
        requests = requests.filter(_having(status))
    if tool:
        requests = requests.filter(tool_name=tool)
    if user:
        requests = requests.filter(user_id__in=_ids_of(user))
    if older_than is not None:
        moment = datetime.now(UTC) - older_than
        # The ids, which grow with time, let PostgreSQL begin where the old ones are.
        requests = requests.filter(created_at__lte=moment, id__lt=first_id_at(moment + _SLACK))
    return requests


def _having(status: str) -> Q:
    overdue = Q(expires_at__lte=datetime.now(UTC))
    if status == Status.PENDING:
        return Q(status=status) & ~overdue
    if status == Status.EXPIRED:
        return Q(status=status) | Q(status=Status.PENDING) & overdue
    return Q(status=status)


def _ids_of(user: str) -> list[uuid.UUID]:
    try:
        return [uuid.UUID(user)]
    except ValueError:
        # Looked up beforehand, so that PostgreSQL sees that an index by user is the way.
        return list(User.objects.filter(username=user).values_list("id", flat=True))


def age(text: str) -> timedelta | None:
    """A time span as people write it: 90, 90s, 15m, 2h, 3d; None for anything else, and beyond 50 years."""
    found = _AGE.fullmatch(text.strip())
    if found is None:
        return None
    span = timedelta(seconds=int(found[1])) * UNITS[found[2]]
    return span if span <= timedelta(days=18_262) else None


def status_of(request: ApprovalRequest) -> str:
    """The status; one that nobody decided in time is expired, also before the sweeper has come by."""
    overdue = request.status == Status.PENDING and request.expires_at <= datetime.now(UTC)
    return str(Status.EXPIRED if overdue else request.status)


def decidable(request: Any, principal: Principal) -> bool:
    """Whether this person may approve or deny it: in time, another's, by role and scope, and not done so already."""
    counting = approvals(request)
    return (
        status_of(request) == Status.PENDING
        and "approvals:decide" in principal.scopes
        and request.user_id != principal.user_id
        # Enough may count again once a former approver is one again; then any of them may say so.
        and (len(counting) >= request.approvals_needed or all(each.user_id != principal.user_id for each in counting))
    )


def approvals(request: Any) -> list[ApprovalDecision]:
    """The approvals that count: of the arguments as they are, by people who may decide, or might when it was decided.

    An edit voids what came before it, for good.
    """
    return [
        each
        for each in request.decisions.all()
        if each.verdict == "approve" and each.revision == request.revision and _counts(request, each)
    ]


def _counts(request: Any, approval: Any) -> bool:
    if request.status == Status.PENDING:
        return bool(approval.may_decide)
    return request.approved_by is None or approval.user_id in request.approved_by


def body(request: Any, principal: Principal) -> dict[str, Any]:
    """One row of `visible` as everybody is shown it; ids are UUIDs and times datetimes."""
    counting = approvals(request)
    return {
        "id": request.id,
        "status": status_of(request),
        "tool": request.tool_name,
        "tier": request.tier,
        "why": request.why,
        "input": request.input,
        "approved_input": request.approved_input,
        "params_hash": request.params_hash or None,
        "user": {"id": request.user_id, "username": request.username},
        "agent": request.agent,
        "run_id": request.run_id,
        "conversation_id": request.conversation_id,
        "tool_call_id": request.call_id,
        "context": request.context,
        "approvals_needed": request.approvals_needed,
        "approvals": len(counting),
        "created_at": request.created_at,
        "expires_at": request.expires_at,
        "decided_at": request.decided_at,
        "used_at": request.used_at,
        "decisions": [
            {
                "id": decision.id,
                "user": {"id": decision.user_id, "username": decision.username},
                "verdict": decision.verdict,
                "reason": decision.reason,
                "via": decision.via,
                "edit": decision.edit,
                "counts": decision.verdict == "deny" or decision in counting,
                "created_at": decision.created_at,
            }
            for decision in request.decisions.all()
        ],
        "mine": request.user_id == principal.user_id,
        "decidable": decidable(request, principal),
    }


def look(principal: Principal, request_id: uuid.UUID) -> dict[str, Any] | None:
    """The body of one request of the principal's tenant, or None."""
    with transactions.scope(principal.tenant_id, principal.user_id):
        request = visible().filter(id=request_id).first()
        return body(request, principal) if request is not None else None


def waiting(principal: Principal, most: int = 100) -> int:
    """How many requests of the principal's tenant wait for a decision, counted up to `most`."""
    with transactions.scope(principal.tenant_id, principal.user_id):
        return narrowed(ApprovalRequest.objects.order_by(), status=Status.PENDING)[:most].count()
