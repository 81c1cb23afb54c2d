"""The log-in page and the tenant switcher."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, LogoutView
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST
from redis.exceptions import RedisError

from tenants.login import access
from tenants.login.attempts import SECONDS_WITHOUT_COUNT, counted, later
from tenants.login.second_factor import second_step


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
            return later(request, 503, SECONDS_WITHOUT_COUNT)
        if seconds:
            return later(request, 429, seconds)
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Log in, or ask for a code first who has set a second factor up."""
        user: Any = form.get_user()
        return second_step.wait_for_code(self.request, user, self.get_success_url()) or super().form_valid(form)


def _seconds_to_wait(request: HttpRequest) -> int:
    """Seconds until another attempt is allowed, after counting this one; 0 when it is allowed."""
    # The name that will be looked up is counted, so that its other spellings count too.
    field = LogInForm(request).fields["username"]
    username = str(field.to_python(request.POST.get("username", ""))).casefold()
    return max(counted(request, "log-in", "ip"), counted(request, "log-in", lambda group, request: username))


def counted_password_change(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """The admin's page for one's own password; attempts with the old one count like those to log in."""

    def limited(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.method == "POST" and request.user.is_authenticated:
            try:
                seconds = counted(request, "password-change", lambda group, request: str(request.user.pk))
            except (RedisError, OSError):
                return later(request, 503, SECONDS_WITHOUT_COUNT)
            if seconds:
                return later(request, 429, seconds)
        return view(request, *args, **kwargs)

    return limited


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
    return HttpResponseRedirect(following if ours else "/")


def frame(request: HttpRequest, page: str) -> dict[str, Any]:
    """What the top bar needs on every page inside; `page` is the one to mark in it."""
    return {"page": page, "memberships": access.memberships(request)}


urlpatterns = [
    path("login/", LogIn.as_view(), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("tenant/", switch_tenant, name="switch-tenant"),
]
