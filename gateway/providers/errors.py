"""What can go wrong between Toolgate and a model's provider, as one tree.

ProviderError                 502 provider_error, unless said otherwise
├── ProviderUnavailable       timeouts, lost connections, 5xx: worth asking again
├── ProviderRateLimited       429, `retry_after` seconds when it said so: worth asking again; 429 to the client
├── ProviderRefused           403, 404, 400 and other 4xx: asking again would not help
│   └── ProviderMisconfigured 401, 402, a key or an address that cannot be used: no fault of the request
└── ProviderGarbled           an unreadable answer, a stream without a finish reason: worth asking again

Messages are for people: they never hold a key, a header or the provider's address.
"""


class ProviderError(Exception):
    """A model call failed. `status` is the provider's HTTP status, if it answered at all."""

    retryable = False
    # False: no connection was made, so nothing was asked.
    sent = True

    def __init__(self, message: str, *, status: int | None = None, retry_after: float | None = None):
        super().__init__(message)
        self.message = message
        self.status = status
        self.retry_after = retry_after


class ProviderUnavailable(ProviderError):
    """The provider did not answer, or answered that it cannot now."""

    retryable = True


class ProviderRateLimited(ProviderError):
    """The provider asks us to slow down."""

    retryable = True


class ProviderRefused(ProviderError):
    """The provider understood the request and will not do it."""


class ProviderMisconfigured(ProviderRefused):
    """The provider cannot be asked as it is configured, whatever the request is."""


class ProviderGarbled(ProviderError):
    """The provider's answer broke off or makes no sense."""

    retryable = True
