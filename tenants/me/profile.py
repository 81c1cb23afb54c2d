"""`/settings/profile/`: one's own language and time zone."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.views.decorators.http import require_http_methods

from tenants.login.access import SignedInRequest, signed_in
from tenants.me.frame import section_frame
from tenants.people import profile


class ProfileForm(forms.Form):
    """The language one writes in, and where one's days begin."""

    language = forms.ChoiceField()
    time_zone = forms.ChoiceField()

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.fields["language"].choices = [(each, _words(each)) for each in profile.languages()]  # type: ignore[attr-defined]
        self.fields["time_zone"].choices = [(each, each) for each in profile.time_zones()]  # type: ignore[attr-defined]
        for field in self.fields.values():
            field.widget.attrs["class"] = "input"


def _words(language: str) -> str:
    return "Another (words as they are)" if language == "simple" else language.title()


@require_http_methods(["GET", "POST"])
@signed_in
def index(request: SignedInRequest) -> HttpResponse:
    """Change them."""
    own = profile.of(request.principal)
    initial = {"language": own.language, "time_zone": own.time_zone}
    form = ProfileForm(request.POST if request.method == "POST" else None, initial=initial)
    if form.is_valid():
        profile.change(request.principal, **form.cleaned_data)
        messages.success(request, "Saved.")
        return redirect("settings-profile")
    context = section_frame(request, "profile") | {"form": form}
    return render(request, "settings/profile.html", context, status=400 if form.is_bound else 200)


urlpatterns = [path("", index, name="settings-profile")]
