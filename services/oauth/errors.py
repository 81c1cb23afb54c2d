"""What can go wrong with an authorization server. No message holds a token, a code or a secret.

OAuthFailed
├── ServerUnavailable   it did not answer, or not now: ask again later
├── ServerUnusable      what it says of itself, or its answer, cannot be used
└── GrantRefused        it answered that it gives no token; `error` is its code
"""


class OAuthFailed(Exception):
    """There is no token; the message is for people."""


class ServerUnavailable(OAuthFailed):
    """It did not answer, or answered that it fails."""


class ServerUnusable(OAuthFailed):
    """Its metadata or its answer is not what the standard says, or names another server."""


class GrantRefused(OAuthFailed):
    """It refused, with an error code of RFC 6749."""

    def __init__(self, error: str):
        super().__init__(f"The authorization server refused: {error}.")
        self.error = error
