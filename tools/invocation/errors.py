"""What keeps a request from making a call at all; a call that is refused is recorded instead.

tenants.errors.Refused
└── IdempotencyMismatch     422 idempotency_mismatch
"""

from tenants.errors import Refused


class IdempotencyMismatch(Refused):
    """The key was used with another body within the last 24 hours."""

    status = 422
    code = "idempotency_mismatch"

    def __init__(self) -> None:
        super().__init__("This Idempotency-Key was used with another request body. Use a new key for a new request.")
