"""Who sent the request on bare ASGI that is handled now: its refusal may be worded for them."""

from contextvars import ContextVar

from tenants.people.principal import Principal

_asking: ContextVar[Principal | None] = ContextVar("asking", default=None)


def who() -> Principal | None:
    """Who asks, as far as that is known."""
    return _asking.get()


def remember(principal: Principal | None) -> None:
    """Say who asks; None: that is not known yet."""
    _asking.set(principal)
