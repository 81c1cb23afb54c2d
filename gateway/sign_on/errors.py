"""Why nobody is let in by single sign-on, or a provider is not set up, as one tree. Nothing has changed then.

Refused                     the answer's HTTP status, code and words
├── SignOnRefused           403 sign_on_refused
├── ProviderFailed          502 sign_on_failed
├── NoSuchProvider          404 not_found
├── InvalidProvider         400 invalid_request
└── DomainTaken             409 domain_taken
"""

from tenants.errors import Refused


class SignOnRefused(Refused):
    """Whoever it is does not get in; the words say who can help."""

    status = 403
    code = "sign_on_refused"


class ProviderFailed(Refused):
    """The provider did not answer, or with nothing that can be believed."""

    status = 502
    code = "sign_on_failed"


class NoSuchProvider(Refused):
    """The tenant has no such provider."""

    status = 404
    code = "not_found"

    def __init__(self) -> None:
        super().__init__("There is no such provider.")


class InvalidProvider(Refused):
    """What was sent makes no provider."""


class DomainTaken(Refused):
    """The tenant has a provider for the domain."""

    status = 409
    code = "domain_taken"

    def __init__(self, domain: str):
        super().__init__(f"There is a provider for {domain} already. Change that one.", "domain")
