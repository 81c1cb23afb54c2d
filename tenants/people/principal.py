"""Who is asking: the tenant, the user, and what they may do."""

import uuid
from dataclasses import dataclass, field

MEMBER_SCOPES = frozenset({"chat", "tools:read", "history:read"})
SCOPES: dict[str, frozenset[str]] = {
    "member": MEMBER_SCOPES,
    "approver": MEMBER_SCOPES | {"approvals:read", "approvals:decide"},
    "auditor": MEMBER_SCOPES | {"approvals:read"},
    "owner": MEMBER_SCOPES | {"approvals:read", "approvals:decide", "admin"},
}
DECIDERS = [role for role, scopes in SCOPES.items() if "approvals:decide" in scopes]
"""The roles that may decide about approval requests."""
READERS = frozenset({"auditor", "owner"})
"""The roles that read every call of the tenant."""


@dataclass(frozen=True, slots=True)
class Principal:
    """A member of a tenant, as authenticated by a key or a session; `scopes` is what this request may do.

    `key_id` is the key's, or None with a session. With a `version` it is remembered, and holds for who finds in their
    transaction that the tenant's rights have that version; without one it was read for this request.
    `limits` are the requests per minute of the tenant, of each person and of each key; None where nobody has read them.
    """

    tenant_id: uuid.UUID
    tenant_slug: str
    user_id: uuid.UUID
    username: str
    role: str
    scopes: frozenset[str]
    key_id: uuid.UUID | None = None
    is_authenticated: bool = True
    version: uuid.UUID | None = field(default=None, compare=False)
    limits: tuple[int | None, int | None, int | None] | None = field(default=None, compare=False)

    @property
    def sees_whole_history(self) -> bool:
        """Auditors and owners read every call of the tenant; others their own."""
        return self.role in READERS

    @property
    def pk(self) -> uuid.UUID:
        """The user's id, where Django asks a user for one."""
        return self.user_id


def scopes_of(role: str, narrowed: list[str] | None = None) -> frozenset[str]:
    """What the role allows, or the part of it that a key was narrowed to; None: not narrowed."""
    allowed = SCOPES.get(role, frozenset())
    return allowed if narrowed is None else allowed & frozenset(narrowed)
