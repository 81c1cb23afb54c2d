"""What a switch can be about: whoever owns a kind of target says here whether there is such a one.

A switch that is about nothing, since its author mistyped, would stop nothing and look as if it did.
"""

import re
import uuid
from collections.abc import Callable

from tenants.models import KillSwitch, Tenant, User
from tenants.switches.errors import InvalidSwitch

Kind = KillSwitch.Kind
# The target as it is stored, of what somebody wrote; None: there is none. Without a tenant: in none in particular.
Find = Callable[[uuid.UUID | None, str], str | None]
_MODEL = re.compile(r"[a-z0-9][a-z0-9_-]*/\S+")
_registered: dict[str, Find] = {}


def register(kind: str, find: Find) -> None:
    """Say how targets of a kind are found, in place of what was said before."""
    _registered[kind] = find


def find(tenant_id: uuid.UUID | None, kind: str, target: str) -> str:
    """The target as it is stored. Raises InvalidSwitch for one that does not exist, and LookupError for a kind that no
    installed app has registered."""
    found = _registered[kind](tenant_id, target) if target and target.isprintable() else None
    if found is None:
        where = "in this tenant" if tenant_id else "that serves all tenants"
        raise InvalidSwitch(f"There is no {Kind(kind).label.lower()} {target[:100]!a} {where}.", "target")
    return found


def _user(tenant_id: uuid.UUID | None, target: str) -> str | None:
    if tenant_id is None:
        return None
    members = User.objects.filter(memberships__tenant_id=tenant_id)
    try:
        found = members.filter(id=uuid.UUID(target)).first()
    except ValueError:
        found = members.filter(username=target).first()
    return str(found.pk) if found is not None else None


def _tenant(tenant_id: uuid.UUID | None, target: str) -> str | None:
    here = None if tenant_id is None else Tenant.objects.filter(id=tenant_id).first()
    return str(here.pk) if here is not None and target.lower() in (str(here.pk), here.slug) else None


def _model(tenant_id: uuid.UUID | None, target: str) -> str | None:
    # Which models there are is known to providers alone.
    return target if _MODEL.fullmatch(target) and ("*" not in target or target.endswith("/*")) else None


register(Kind.USER, _user)
register(Kind.TENANT, _tenant)
register(Kind.MODEL, _model)
register(Kind.EVERYTHING, lambda tenant_id, target: "" if tenant_id is None else None)
