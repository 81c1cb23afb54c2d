"""The second factor: codes of an authenticator app (TOTP), and recovery codes for when it is lost.

They are rows of allauth's, which only their user's own scope sees, with secrets encrypted by TOOLGATE_ENCRYPTION_KEYS.
A code works once: the counter of the last one is stored with the secret, so Redis is not asked.
"""

from typing import Any

from allauth.core.internal.cryptokit import compare_user_code
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal import auth as totp
from allauth.mfa.utils import decrypt
from django.utils import timezone

from tenants.models import User
from tenants.people import encryption

TOTP, RECOVERY = Authenticator.Type.TOTP, Authenticator.Type.RECOVERY_CODES
_COUNTER = "last_counter"


class Adapter(DefaultMFAAdapter):  # type: ignore[misc]
    """What allauth asks of Toolgate about second factors."""

    def encrypt(self, text: str) -> str:
        """With the operator's first key."""
        return encryption.encrypt(text)

    def decrypt(self, encrypted_text: str) -> str:
        """With whichever of the operator's keys fits. Raises Undecipherable."""
        return encryption.decrypt(encrypted_text)

    def get_totp_label(self, user: Any) -> str:
        """Whose codes these are, in the app."""
        return str(user.username)

    def get_totp_issuer(self) -> str:
        """Of what, in the app."""
        return "Toolgate"


def of(user: User) -> Authenticator | None:
    """The user's authenticator app, if they have set one up. This and all below: within the user's scope."""
    return Authenticator.objects.filter(user_id=user.pk, type=TOTP).first()


def new_secret() -> str:
    """A secret for an app that is about to be set up."""
    return str(totp.generate_totp_secret())


def picture(user: User, secret: str) -> str:
    """The secret as a QR code: an SVG document."""
    adapter = Adapter()
    return str(adapter.build_totp_svg(adapter.build_totp_url(user, secret)))


def enable(user: User, secret: str, code: str) -> list[str] | None:
    """Set the app up, once a code proves that it has the secret; recovery codes, or None for a wrong code."""
    counter = _counter(secret, code)
    if counter is None:
        return None
    instance = totp.TOTP.activate(user, secret).instance
    instance.data[_COUNTER] = counter
    instance.save(update_fields=["data"])
    return new_recovery_codes(user)


def disable(user: User) -> None:
    """Forget the app and the recovery codes; passkeys go on."""
    Authenticator.objects.filter(user_id=user.pk, type__in=(TOTP, RECOVERY)).delete()


def new_recovery_codes(user: User) -> list[str]:
    """Codes that each work once, in the place of all earlier ones."""
    Authenticator.objects.filter(user_id=user.pk, type=RECOVERY).delete()
    return [str(code) for code in RecoveryCodes.activate(user).generate_codes()]


def recovery_codes_left(user: User) -> int:
    """How many recovery codes still work."""
    found = Authenticator.objects.filter(user_id=user.pk, type=RECOVERY).first()
    return len(RecoveryCodes(found).get_unused_codes()) if found else 0


def spend(user: User, code: str) -> bool:
    """Whether it is a code of the user's app, or a recovery code; it works no second time."""
    # Locked: of two requests with one code, the second sees what the first spent.
    rows = {row.type: row for row in Authenticator.objects.select_for_update().filter(user_id=user.pk).order_by("id")}
    if app := rows.get(TOTP):
        counter = _counter(decrypt(app.data["secret"]), code)
        if counter is not None and counter > app.data.get(_COUNTER, -1):
            app.data[_COUNTER] = counter
            app.last_used_at = timezone.now()
            app.save(update_fields=["data", "last_used_at"])
            return True
    if (recovery := rows.get(RECOVERY)) and RecoveryCodes(recovery).validate_code(code):
        recovery.record_usage()
        return True
    return False


def _counter(secret: str, code: str) -> int | None:
    """Which of the present codes this is; None when it is none."""
    for counter in totp.yield_hotp_counters_from_time():
        if compare_user_code(actual=code, expected=totp.format_hotp_value(totp.hotp_value(secret, counter))):
            return int(counter)
    return None
