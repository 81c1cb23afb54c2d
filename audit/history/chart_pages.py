"""The page that shows the history as charts."""

from typing import Any

from django import forms
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from audit.history import charts, drawing, reads
from audit.history.filters import MOST_PEOPLE
from tenants.login.access import SignedInRequest, signed_in
from tenants.login.pages import frame
from tenants.models import User

USUAL = "week"


class ChartForm(forms.Form):
    """Which charts; a value that makes no sense is ignored."""

    range = forms.ChoiceField(required=False, choices=[(key, name) for key, (name, *_) in charts.RANGES.items()])
    tool = forms.CharField(required=False, max_length=64)
    user = forms.CharField(required=False, max_length=150)


@require_safe
@signed_in
def history_charts(request: SignedInRequest) -> HttpResponse:
    """Calls, failures and latency over time and by tool: one's own; for auditors and owners, anybody's."""
    principal = request.principal
    form = ChartForm(request.GET)
    form.is_valid()
    chosen = {name: value for name, value in form.cleaned_data.items() if value}
    whose: Any = principal.user_id
    people: list[str] = []
    if principal.sees_whole_history:
        people = list(User.objects.order_by("username").values_list("username", flat=True)[:MOST_PEOPLE])
        named = User.objects.filter(username=chosen["user"]) if "user" in chosen else User.objects.none()
        whose = named.values_list("id", flat=True).first()
    if whose in (None, principal.user_id):
        chosen.pop("user", None)
    of = chosen.get("range", USUAL)
    tool = chosen.get("tool")
    found = charts.counted(tenant_id=principal.tenant_id, user_id=whose, of=of, tool=tool)
    if found.total.calls:
        reads.record(
            reader_id=principal.user_id,
            shown={(principal.tenant_id, whose): found.total.calls},
            action=reads.Action.CHARTS,
            via="page",
            filters=chosen | {"range": of},
        )
    context = {
        "charts": found,
        "calls": drawing.calls(found),
        "latency": drawing.latency(found),
        "ranges": [(key, name) for key, (name, *_) in charts.RANGES.items()],
        "range": of,
        "range_words": charts.RANGES[of][0],
        "chosen": chosen,
        "people": people,
        "tab": "charts",
    }
    return render(request, "history/charts.html", context | frame(request, "history"))
