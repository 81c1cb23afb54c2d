"""Erase the payloads of a call, a conversation or a user of a tenant; their entries in the log stay as they are.

It says what is to go and asks first; `--yes` does not ask. What is erased is on record without a person's name, as
done by a command.
"""

import asyncio
import sys
import uuid
from typing import Any

from django.core.management.base import CommandError

from audit.retention.erasure import NOBODY, Cause, Scope
from gateway.runs.conversations import erasure
from gateway.runs.conversations.erasure import Erased
from gateway.runs.errors import NoSuchSubject
from tenants.errors import Refused
from tenants.models import Tenant, User
from tenants.scope import transactions
from tenants.scope.routing import on_login


def add_arguments(parser: Any) -> None:
    """Whose, what, why."""
    parser.add_argument("--tenant", required=True, metavar="SLUG")
    subject = parser.add_mutually_exclusive_group(required=True)
    subject.add_argument("--call", metavar="ID", type=uuid.UUID)
    subject.add_argument("--conversation", metavar="ID", type=uuid.UUID)
    subject.add_argument("--user", metavar="USERNAME or ID")
    parser.add_argument("--reason", default="", help="kept with the record of the erasure")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def handle(options: dict[str, Any]) -> int:
    """Print how many calls and conversations went; 1 when whoever was asked said no."""
    scope = next(name for name in ("call", "conversation", "user") if options[name] is not None)
    with on_login("operator"):
        tenant = Tenant.objects.filter(slug=options["tenant"]).first()
        if tenant is None:
            raise CommandError(f"There is no tenant {options['tenant']}.")
        subject_id = _user_id(options["user"]) if scope == "user" else options[scope]
    if not options["yes"]:
        sys.stderr.write(f"Erase the {scope} {subject_id} of {tenant.slug} for good? [y/N] ")
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            sys.stderr.write("Nothing was erased.\n")
            return 1
    cause = Cause(tenant.id, Scope(scope), subject_id, None, options["reason"].strip())
    try:
        done = asyncio.run(_erase(cause))
    except Refused as refusal:
        raise CommandError(refusal.detail) from None
    sys.stdout.write(f"calls: {done.calls}\nconversations: {done.conversations}\n")
    return 0


async def _erase(cause: Cause) -> Erased:
    assert cause.subject_id is not None
    try:
        erasure.check_reason(cause.reason)
        user_id = await erasure.whose(cause.tenant_id, NOBODY, cause.scope, cause.subject_id)
        if user_id is None:
            raise NoSuchSubject(cause.scope, cause.subject_id)
        return await erasure.erase(cause, user_id)
    finally:
        await transactions.close_pools()


def _user_id(text: str) -> uuid.UUID:
    try:
        return uuid.UUID(text)
    except ValueError:
        found = User.objects.filter(username=text).values_list("id", flat=True).first()
        if found is None:
            raise CommandError(f"There is no user {text}.") from None
        return found
