"""What members and invitations refuse.

Refused                     the answer's status, code and words
├── NoSuchMember            404 not_found
├── NoSuchInvitation        404 not_found
├── NotAnOwnerNow           403 not_an_owner
├── LastOwner               409 last_owner
├── AlreadyMember           409 already_member
├── TooManyInvitations      409 too_many_invitations
├── InvalidAddress          400 invalid_request
└── InvitationRefused
    ├── InvitationEnded     410 invitation_ended
    ├── NotTheirInvitation  403 not_invited
    └── AccountExists       409 account_exists
"""

from tenants.errors import Refused


class NoSuchMember(Refused):
    """The tenant has no such member."""

    status = 404
    code = "not_found"

    def __init__(self) -> None:
        super().__init__("There is no such member.")


class NoSuchInvitation(Refused):
    """The tenant has no such invitation."""

    status = 404
    code = "not_found"

    def __init__(self) -> None:
        super().__init__("There is no such invitation.")


class NotAnOwnerNow(Refused):
    """The caller was an owner when the request began, and is none any more."""

    status = 403
    code = "not_an_owner"

    def __init__(self) -> None:
        super().__init__("You are not an owner of this tenant any more. Another owner can change its members.")


class LastOwner(Refused):
    """The tenant would have no active owner left."""

    status = 409
    code = "last_owner"

    def __init__(self) -> None:
        super().__init__("This is the tenant's last active owner. Make another member an owner first.")


class AlreadyMember(Refused):
    """The person is a member of the tenant already."""

    status = 409
    code = "already_member"

    def __init__(self) -> None:
        super().__init__("This person is a member already. An owner can change their role.")


class TooManyInvitations(Refused):
    """The tenant has made as many invitations as it may in a day."""

    status = 409
    code = "too_many_invitations"

    def __init__(self, most: int) -> None:
        super().__init__(f"An owner may make {most} invitations for a tenant in 24 hours. Try again later.")


class InvalidAddress(Refused):
    """What was given is no e-mail address."""

    def __init__(self) -> None:
        super().__init__("This is not an e-mail address that mail can be sent to.", "email")


class InvitationRefused(Refused):
    """An invitation cannot be accepted by whoever has its link."""


class InvitationEnded(InvitationRefused):
    """The invitation is unknown, used, expired or revoked, or its maker is no owner any more."""

    status = 410
    code = "invitation_ended"

    def __init__(self) -> None:
        super().__init__(
            "This invitation does not work any more: it was used or revoked, has expired, or who made it is no owner "
            "any more. Ask an owner of the tenant for a new one."
        )


class NotTheirInvitation(InvitationRefused):
    """The invitation is for the person with another e-mail address."""

    status = 403
    code = "not_invited"

    def __init__(self) -> None:
        super().__init__(
            "This invitation is for another e-mail address than your account has. Ask an owner of the tenant for one "
            "of your own, or log in with the account that has the address."
        )


class AccountExists(InvitationRefused):
    """There is an account with the name or address already."""

    status = 409
    code = "account_exists"

    def __init__(self, field: str) -> None:
        what = "This name is taken. Choose another one." if field == "username" else (
            "There is an account with the address of this invitation. Log in with it, and open the link again."
        )  # fmt: skip
        super().__init__(what, field)
