"""Why a service cannot be called as somebody. A message is for the model and people, and holds no secret.

CredentialError
├── NotConnected            the user has not connected their account there, or has to do so again
├── RefusedThere            the service refused it
└── CredentialUnavailable   it cannot be had now, or nobody can say whether it is there
"""

from django.conf import settings

from tools.errors import ToolCallRejected, ToolError, ToolPermissionDenied, ToolUnavailable
from tools.gates.checks.connection import PAGE


def where() -> str:
    """Where people connect their accounts."""
    return f"{settings.PUBLIC_URL}{PAGE}"


class CredentialError(Exception):
    """There is no credential that the service takes; it is never called as nobody."""

    def as_tool_error(self) -> ToolError:
        """As what a tool raises it."""
        return ToolUnavailable(str(self))


class NotConnected(CredentialError):
    """The user has to connect."""

    def __init__(self, slug: str, why: str = ""):
        first = why or f"The service {slug} is used with each person's own account, and yours is not connected."
        super().__init__(f"{first} Nothing was called. Connect it at {where()}.")

    def as_tool_error(self) -> ToolError:
        """Trying again is no use."""
        return ToolPermissionDenied(str(self))


class CredentialUnavailable(CredentialError):
    """Toolgate cannot get it, or cannot read it."""

    def __init__(self, slug: str, why: str):
        super().__init__(f"The credential of the service {slug} cannot be had at the moment: {why} Nothing was called.")


class RefusedThere(CredentialError):
    """The service refused the user's own account, or what it may do: this says nothing about the calls of others."""

    STATUSES = frozenset({401, 403})

    def __init__(self, slug: str, status: int, missing: str = ""):
        wanted = f" It needs the scope {missing}: an owner adds it to the scopes of {slug} first." if missing else ""
        super().__init__(
            f"The service {slug} refused your account there, or what it may do (HTTP {status}).{wanted} If the account "
            f"has the right, connect it again at {where()}."
        )

    def as_tool_error(self) -> ToolError:
        """The call was made, and rejected."""
        return ToolCallRejected(str(self))
