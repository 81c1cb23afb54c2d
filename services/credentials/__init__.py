"""As whom a service is called. `stored` is what its rows keep, `resolver` the only way from there to a request.

`rows` are the tokens, `tokens` what is done with them, `recorded` what the ledger has of that, `state` what gates know.
"""

from services.credentials.errors import CredentialError, CredentialUnavailable, NotConnected, RefusedThere
from services.credentials.hiding import hidden
from services.credentials.stored import COLUMNS, NONE, Credential, read

__all__ = [
    "COLUMNS",
    "NONE",
    "Credential",
    "CredentialError",
    "CredentialUnavailable",
    "NotConnected",
    "RefusedThere",
    "hidden",
    "read",
]
