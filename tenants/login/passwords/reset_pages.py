"""A password that is forgotten: a link by e-mail to the address of the account, which sets a new one, once."""

import logging
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.tokens import default_token_generator
from django.contrib.auth.views import PasswordResetConfirmView
from django.core.exceptions import ValidationError
from django.core.mail import get_connection, send_mail
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse, reverse_lazy
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_decode, urlsafe_base64_encode
from django.views.decorators.http import require_http_methods
from redis.exceptions import RedisError

from tenants.login.attempts import SECONDS_WITHOUT_COUNT, counted, later
from tenants.login.authentication import PasswordBackend
from tenants.login.passwords import changing as passwords
from tenants.models import User

log = logging.getLogger(__name__)

# Mail takes its time, which would tell whether there is such an account.
_SENDING = ThreadPoolExecutor(2, thread_name_prefix="reset-mail")
# A server that hangs does not keep the others' mail for longer.
MAIL_SECONDS = 20
SENT = (
    "If there is such an account, and it has an e-mail address, a link is on its way there. It works for an hour. "
    "Without one, ask the operator of this Toolgate."
)


class AskForm(forms.Form):
    """Whose password it is, spelled as at the log-in."""

    username = forms.CharField(max_length=150)

    def clean_username(self) -> str:
        """As accounts are stored."""
        return str(User.normalize_username(self.cleaned_data["username"]))


class NewPasswordForm(SetPasswordForm):  # type: ignore[type-arg]
    """Django's form, saved by the function that may write one user's password."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            field.widget.attrs["class"] = "input"

    def save(self, commit: bool = True) -> User:
        """Set the password; nothing happens when it was changed since the link was opened."""
        user: User = self.user
        passwords.change(user, self.cleaned_data["new_password1"])
        return user


@require_http_methods(["GET", "POST"])
def ask(request: HttpRequest) -> HttpResponse:
    """Send a link; the answer is the same whether there is such an account or not."""
    form = AskForm(request.POST if request.method == "POST" else None)
    if not form.is_valid():
        return render(request, "accounts/reset.html", {"form": form})
    username = form.cleaned_data["username"]
    try:
        seconds = max(
            counted(request, "password-reset", "ip"),
            counted(request, "password-reset", lambda group, request: username.casefold()),
        )
    except (RedisError, OSError):
        return later(request, 503, SECONDS_WITHOUT_COUNT)
    if seconds:
        return later(request, 429, seconds)
    if user := PasswordBackend().find(username):
        _SENDING.submit(_send, user.email, user.username, _link(user))
    messages.success(request, SENT)
    return redirect("login")


class Confirm(PasswordResetConfirmView):
    """Sets a new password for who has the link; the token is taken out of the address first."""

    template_name = "accounts/reset_confirm.html"
    form_class = NewPasswordForm
    success_url = reverse_lazy("login")

    def get_user(self, uidb64: str) -> User | None:
        """The account that the link names, or None."""
        try:
            return PasswordBackend().get_user(User._meta.pk.to_python(urlsafe_base64_decode(uidb64).decode()))
        except (ValueError, ValidationError):
            return None

    def form_valid(self, form: Any) -> HttpResponse:
        """Tell on the log-in page."""
        messages.success(self.request, "Your password is changed. Log in with it.")
        return super().form_valid(form)


def _link(user: User) -> str:
    """The address that sets a new password; it does not come from the request, whose Host may be anything."""
    parts = (urlsafe_base64_encode(force_bytes(user.pk)), default_token_generator.make_token(user))
    return f"{settings.PUBLIC_URL}{reverse('password-reset-confirm', args=parts)}"


def _send(address: str, username: str, link: str) -> None:
    text = render_to_string("accounts/reset_mail.txt", {"username": username, "link": link})
    try:
        connection = get_connection(timeout=MAIL_SECONDS)
        send_mail("A new password for Toolgate", text, settings.DEFAULT_FROM_EMAIL, [address], connection=connection)
    except Exception:
        # Its text holds the link.
        log.warning("password mail not sent", exc_info=False)
