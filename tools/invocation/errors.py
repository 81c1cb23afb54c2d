"""What keeps a request from making a call at all; a call that is refused is recorded instead.

tenants.errors.Refused
└── IdempotencyMismatch     422 idempotency_mismatch
    └── ReportedOtherwise   the same
"""

from tenants.errors import Refused


class IdempotencyMismatch(Refused):
    """The key was used with another body within the last 24 hours."""

    status = 422
    code = "idempotency_mismatch"

    def __init__(self) -> None:
        super().__init__("This Idempotency-Key was used with another request body. Use a new key for a new request.")


class ReportedOtherwise(IdempotencyMismatch):
    """A client has reported a call of this id within the last 24 hours, and said something else of it."""

    def __init__(self, report_id: str) -> None:
        super().__init__()
        self.detail = f"The call {report_id} was reported with other values. Use a new id for another call."
