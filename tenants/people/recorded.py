"""What the record of changes says of tenants, members and keys; people are named by id alone."""

from collections.abc import Iterable

from tenants.models import Membership, Tenant, User
from tenants.people import raising
from tenants.people.changes import Kind, Said


def _tenant_raises(before: Said | None, after: Said | None) -> bool:
    """A second factor is asked for or not; payloads, and so the evidence of what was done, are erased sooner; or more
    is fetched, or leaves the tenant, without a human."""
    if before is None or after is None:
        return False
    was, now = before.values, after.values
    return bool(
        was["second_factor_required"] != now["second_factor_required"]
        or raising.more(now["retention_days"], was["retention_days"])
        or set(now["fetch_hosts"]) - set(was["fetch_hosts"])
        or _STRICTER[now["taint"]] < _STRICTER[was["taint"]]
    )


_STRICTER = {mode: rank for rank, mode in enumerate(Tenant.Taint.values)}


TENANT = Kind(
    target="tenant",
    name="slug",
    tenant="pk",
    fields=(
        *("slug", "name", "role_ceilings", "default_tools", "retention_days", "second_factor_required"),
        *("operator_providers", "fetch_hosts", "taint"),
    ),
    raises=_tenant_raises,
)
# What its member calls it is theirs. Whether a key needs a proof depends on its scopes: see `demand_for_key`.
KEY = Kind(target="key", name="prefix", fields=("user_id", "scopes", "expires_at", "revoked_at"))
# Whose address it is for is nobody's to read for ever.
INVITATION = Kind(
    target="invitation",
    name="",
    fields=("role", "created_by_id", "expires_at", "accepted_at", "accepted_by_id", "revoked_at"),
    secrets=("email",),
    raises=lambda before, after: before is None,
)
_SIGN_ON = (
    *("issuer", "client_id", "role_claim", "roles", "default_role"),
    *("creates_members", "readmits_members", "trusts_addresses"),
)
SIGN_ON = Kind(
    target="sign_on",
    name="domain",
    fields=(*_SIGN_ON, "enabled"),
    secrets=("client_secret",),
    raises=raising.while_on(*_SIGN_ON, "client_secret"),
)
DOMAIN = Kind(target="domain", name="domain", id="tenant_id", fields=("domain",))
_MEMBER = Kind(target="member", name="", id="user_id", fields=("role",), raises=raising.more_rights)


def member(row: Membership) -> Said:
    """Of a member: the role, and whether the account is active."""
    return _MEMBER.of(row, active=row.user.is_active)


def members(user: User) -> Iterable[Said]:
    """Of an account, in each tenant that it is a member of."""
    found = Membership.objects.select_related("user").filter(user_id=user.pk)
    return [member(row) for row in found.order_by("tenant_id")]
