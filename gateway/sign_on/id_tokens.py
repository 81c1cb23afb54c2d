"""ID tokens: believed only when the provider signed them, lately, for this client and for this very log-in."""

import hmac
import time
from typing import Any

import jwt

from services.oauth.errors import ServerUnusable

LONGEST = 64 * 1024
LONGEST_SUBJECT = 255
# How far clocks may differ, and how old a token may be that was just asked for.
LEEWAY_SECONDS, OLDEST_SECONDS = 60, 600
# Signatures that only the provider can make: never a shared secret, and never none.
_ALGORITHMS = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), "RSA"),
    **dict.fromkeys(("ES256", "ES384", "ES512"), "EC"),
    "EdDSA": "OKP",
}
_DEMANDED = ["iss", "sub", "aud", "exp", "iat", "nonce"]


def claims(token: object, keys: list[dict[str, Any]], *, issuer: str, client_id: str, nonce: str) -> dict[str, Any]:
    """What the token says, once all of it was checked. Raises ServerUnusable, in words that hold nothing of it."""
    if not isinstance(token, str) or len(token) > LONGEST:
        raise ServerUnusable("The provider gave no ID token, or one that is too long.")
    try:
        header = jwt.get_unverified_header(token)
        algorithm = header.get("alg")
        kind = _ALGORITHMS.get(algorithm) if isinstance(algorithm, str) else None
        if kind is None:
            raise ServerUnusable("The ID token is not signed, or with an algorithm that is not accepted.")
        key = jwt.PyJWK(_key(keys, header.get("kid"), kind), algorithm)
        found: dict[str, Any] = jwt.decode(
            token,
            key,
            algorithms=[str(algorithm)],
            audience=client_id,
            issuer=issuer,
            leeway=LEEWAY_SECONDS,
            options={"require": _DEMANDED},
        )
    except jwt.ExpiredSignatureError:
        raise ServerUnusable("The ID token has expired. Are the clocks right?") from None
    except jwt.ImmatureSignatureError:
        raise ServerUnusable("The ID token is from the future. Are the clocks right?") from None
    except jwt.InvalidAudienceError:
        raise ServerUnusable("The ID token is for another client.") from None
    except jwt.InvalidIssuerError:
        raise ServerUnusable("The ID token is from another issuer.") from None
    except (jwt.PyJWTError, ValueError, TypeError, RecursionError):
        raise ServerUnusable("The ID token is none, or its signature is wrong.") from None
    _check(found, client_id, nonce)
    return found


def check_fresh(found: dict[str, Any]) -> None:
    """Whether the person logged in at the provider just now, and not some time before. Raises ServerUnusable."""
    at = found.get("auth_time")
    if isinstance(at, bool) or not isinstance(at, int | float) or abs(time.time() - at) > OLDEST_SECONDS:
        raise ServerUnusable("The provider does not say that you logged in just now.")


def _key(keys: list[dict[str, Any]], kid: object, kind: str) -> dict[str, Any]:
    fitting = [key for key in keys if key.get("kty") == kind and key.get("use", "sig") == "sig"]
    if kid is not None:
        fitting = [key for key in fitting if key.get("kid") == kid]
    if len(fitting) != 1:
        raise ServerUnusable("The ID token is signed with a key that the provider does not publish.")
    return fitting[0]


def _check(found: dict[str, Any], client_id: str, nonce: str) -> None:
    subject, given, party = found["sub"], found["nonce"], found.get("azp")
    if not isinstance(given, str) or not hmac.compare_digest(given.encode(), nonce.encode()):
        raise ServerUnusable("The ID token is of another log-in.")
    several = isinstance(found["aud"], list) and len(found["aud"]) > 1
    if party != client_id and (party is not None or several):
        raise ServerUnusable("The ID token is for another client.")
    if not isinstance(found["iat"], int | float) or found["iat"] < time.time() - OLDEST_SECONDS:
        raise ServerUnusable("The ID token is older than this log-in. Are the clocks right?")
    if not isinstance(subject, str) or not 0 < len(subject) <= LONGEST_SUBJECT or not subject.isprintable():
        raise ServerUnusable("The ID token names nobody.")
