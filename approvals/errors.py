"""Why a decision, or the change of a rule, is refused, as one tree. Nothing has changed when one of these is raised.

Refused                     the answer's HTTP status, code and words
├── NoSuchRequest           404 not_found
├── NotAnApprover           403 not_an_approver
├── OwnRequest              403 own_request
├── NotYours                403 not_yours
├── Conflict                409; APIs answer it with the request as it is now
│   ├── AlreadyDecided          already_decided
│   ├── AlreadyVoted            already_voted
│   └── ArgumentsChanged        arguments_changed
├── Expired                 410 approval_expired
├── InvalidArguments        400 invalid_arguments
├── InvalidReason           400 invalid_request
├── InvalidRule             400 invalid_rule
├── NotAnOwner              403 not_an_owner
├── NoSuchRule              404 not_found
├── NoSuchWebhook           404 not_found
├── BadSignature            401 bad_signature
└── StaleMessage            409 stale_message
"""

from tenants.errors import Refused


class NoSuchRequest(Refused):
    """The tenant has no such approval request."""

    status = 404
    code = "not_found"

    def __init__(self, request_id: object):
        super().__init__(f"There is no approval request {request_id}.")


class NotAnApprover(Refused):
    """Only approvers and owners of the tenant decide, superusers included."""

    status = 403
    code = "not_an_approver"

    def __init__(self) -> None:
        super().__init__("Only approvers and owners of this tenant decide about its approval requests.")


class OwnRequest(Refused):
    """Nobody approves or denies their own request."""

    status = 403
    code = "own_request"

    def __init__(self) -> None:
        super().__init__("This call was asked for in your own name: somebody else has to decide. You may cancel it.")


class NotYours(Refused):
    """Only who asked may cancel."""

    status = 403
    code = "not_yours"

    def __init__(self) -> None:
        super().__init__("Only the person in whose name the call was asked for may cancel it. You may deny it.")


class Conflict(Refused):
    """The request is not as whoever decided took it to be."""

    status = 409


class AlreadyDecided(Conflict):
    """The request was approved, denied or cancelled before."""

    code = "already_decided"

    def __init__(self, status: str):
        super().__init__(f"This approval request is decided: it was {status}.")


class AlreadyVoted(Conflict):
    """This approver has approved these arguments before, and others have to as well."""

    code = "already_voted"

    def __init__(self) -> None:
        super().__init__("You have approved this already; it waits for somebody else's approval too.")


class ArgumentsChanged(Conflict):
    """The arguments are not those that the approver has seen; who names none has seen what the model sent."""

    code = "arguments_changed"

    def __init__(self) -> None:
        super().__init__(
            "The arguments are not those that you have seen; another approver may have changed them. Read them as they "
            "are now, then decide again (over an API: with their params_hash as seen)."
        )


class Expired(Refused):
    """The time to decide is over."""

    status = 410
    code = "approval_expired"

    def __init__(self, at: object):
        super().__init__(f"This approval request expired at {at}; the call will not run.")


class InvalidArguments(Refused):
    """The edited arguments are not what the tool takes."""

    code = "invalid_arguments"


class InvalidReason(Refused):
    """The reason is too long, or holds what cannot be stored."""

    def __init__(self, most: int):
        super().__init__(f"reason may have up to {most:,} characters, and no control characters.", "reason")


class InvalidRule(Refused):
    """A rule that cannot be, or that would do what its author can hardly have meant."""

    code = "invalid_rule"


class NotAnOwner(Refused):
    """Only an owner of the tenant answers for a rule that approves, superusers included."""

    status = 403
    code = "not_an_owner"

    def __init__(self) -> None:
        super().__init__("Only an owner of this tenant can answer for a rule that approves calls.")


class NoSuchRule(Refused):
    """The tenant has no such rule."""

    status = 404
    code = "not_found"

    def __init__(self, rule_id: object):
        super().__init__(f"There is no approval rule {rule_id}.")


class NoSuchWebhook(Refused):
    """No other system may set the tenant's alert level."""

    status = 404
    code = "not_found"

    def __init__(self) -> None:
        super().__init__("This tenant has no webhook for its alert level; an owner can make one with POST.")


class BadSignature(Refused):
    """A message that is not signed with the secret of its address; the same where there is no such address."""

    status = 401
    code = "bad_signature"

    def __init__(self) -> None:
        super().__init__(
            "No webhook at this address has a secret with which this message is signed (webhook-id, webhook-timestamp, "
            "webhook-signature). Nothing was changed. An owner of the tenant can make a new secret."
        )


class StaleMessage(Refused):
    """A signed message that is too old, or older than what was accepted since."""

    status = 409
    code = "stale_message"

    def __init__(self, why: str):
        super().__init__(f"This message is not taken: {why} Nothing was changed. Sign it anew with the time of now.")
