"""`/accounts/confirm/`: proves anew who one is, for what is asked elsewhere."""

from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from tenants.login import reauthentication
from tenants.login.access import SignedInRequest, oneself


@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "POST"])
@oneself
def confirm(request: SignedInRequest) -> HttpResponse:
    """Ask, unless it was proved lately; then go to `next`, on this site."""
    reauthentication.demand(request, None)
    following = request.GET.get("next", "")
    ours = url_has_allowed_host_and_scheme(following, {request.get_host()}, require_https=request.is_secure())
    return HttpResponseRedirect(following if ours else reverse("settings"))
