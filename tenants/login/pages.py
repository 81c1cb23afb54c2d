"""The log-in page and the tenant switcher."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, LogoutView
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST
from django_ratelimit.core import get_usage
from redis.exceptions import RedisError

from tenants.login import access

# Retry-After of the answer while Redis, which counts the attempts, is unavailable.
SECONDS_WITHOUT_COUNT = 10


class LogInForm(AuthenticationForm):
    """Django's form, styled for our page."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            field.widget.attrs["class"] = "input"
        self.fields["username"].widget.attrs |= {"autocapitalize": "none", "spellcheck": "false"}


class LogIn(LoginView):
    """Logs in by password; attempts are counted per address and per username (`LOGIN_ATTEMPTS`)."""

    template_name = "accounts/login.html"
    authentication_form = LogInForm
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Check the password, unless there were too many attempts (429) or they cannot be counted (503)."""
        try:
            seconds = _seconds_to_wait(request)
        except (RedisError, OSError):
            return _later(request, 503, SECONDS_WITHOUT_COUNT)
        if seconds:
            return _later(request, 429, seconds)
        return super().post(request, *args, **kwargs)


def _seconds_to_wait(request: HttpRequest) -> int:
    """Seconds until another attempt is allowed, after counting this one; 0 when it is allowed."""
    # The name that will be looked up is counted, so that its other spellings count too.
    field = LogInForm(request).fields["username"]
    username = str(field.to_python(request.POST.get("username", ""))).casefold()
    return max(_counted(request, "log-in", "ip"), _counted(request, "log-in", lambda group, request: username))


def _counted(request: HttpRequest, group: str, key: str | Callable[[str, HttpRequest], str]) -> int:
    """Seconds that another attempt must wait, after counting this one; 0 when it need not wait."""
    usage = get_usage(request, group=group, key=key, rate=settings.LOGIN_ATTEMPTS, increment=True)
    return max(usage["time_left"], 1) if usage is not None and usage["should_limit"] else 0


def counted_password_change(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """The admin's page for one's own password; attempts with the old one count like those to log in."""

    def limited(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.method == "POST" and request.user.is_authenticated:
            try:
                seconds = _counted(request, "password-change", lambda group, request: str(request.user.pk))
            except (RedisError, OSError):
                return _later(request, 503, SECONDS_WITHOUT_COUNT)
            if seconds:
                return _later(request, 429, seconds)
        return view(request, *args, **kwargs)

    return limited


def _later(request: HttpRequest, status: int, seconds: int) -> HttpResponse:
    response = render(request, f"{status}.html", {"seconds": seconds}, status=status)
    response["Retry-After"] = str(seconds)
    return response


class _SwitchForm(forms.Form):
    tenant = forms.UUIDField()
    # Where to redirect, on this site.
    next = forms.CharField(required=False, max_length=2000)


@require_POST
def switch_tenant(request: HttpRequest) -> HttpResponse:
    """Put the session into the tenant of the form's `tenant` and go to its `next`; 404 when it is not the user's."""
    form = _SwitchForm(request.POST)
    if not form.is_valid() or not access.switch(request, form.cleaned_data["tenant"]):
        raise Http404
    following = form.cleaned_data["next"]
    ours = url_has_allowed_host_and_scheme(following, {request.get_host()}, require_https=request.is_secure())
    return redirect(following if ours else "/")


def frame(request: HttpRequest, page: str) -> dict[str, Any]:
    """What the top bar needs on every page inside; `page` is the one to mark in it."""
    return {"page": page, "memberships": access.memberships(request)}


urlpatterns = [
    path("login/", LogIn.as_view(), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("tenant/", switch_tenant, name="switch-tenant"),
]
