"""`/inbox/`: what the viewer was told, to read and to clear; what was sent in their name; their reminders."""

import uuid
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from notifications.destinations import sending
from notifications.inbox import entries, exporting, reminders
from tenants.errors import Refused
from tenants.login.access import SignedInRequest, signed_in
from tenants.login.pages import frame
from tenants.people import profile
from tools.builtin.messages.create_reminder import CreateReminder
from tools.schemas.arguments import is_plain

SHOWN = 50
_PAGES_AT_MOST = 10_000


@require_safe
@signed_in
def inbox(request: SignedInRequest) -> HttpResponse:
    """The viewer's entries, newest first; with `?unread=1`, those that were not read."""
    unread = request.GET.get("unread") == "1"
    rows = page_of(request, entries.own(request.principal, unread=unread))
    return render(request, "inbox/inbox.html", inbox_frame(request, "inbox") | {"rows": rows, "unread": unread})


@require_POST
@signed_in
def mark(request: SignedInRequest, id: uuid.UUID, read: bool) -> HttpResponse:
    """Say that an entry was read, or that it was not."""
    if entries.mark(request.principal, id, read=read) is None:
        raise Http404
    return redirect("inbox")


@require_POST
@signed_in
def mark_all(request: SignedInRequest) -> HttpResponse:
    """Say that everything was read."""
    entries.mark_all(request.principal)
    return redirect("inbox")


@require_POST
@signed_in
def delete(request: SignedInRequest, id: uuid.UUID) -> HttpResponse:
    """Delete an entry."""
    if not entries.delete(request.principal, id):
        raise Http404
    messages.success(request, "Deleted the entry.")
    return redirect("inbox")


@require_safe
@signed_in
def export(request: SignedInRequest) -> HttpResponse:
    """All that is in the viewer's inbox, as JSON lines."""
    response = StreamingHttpResponse(
        exporting.lines(request.principal), content_type="application/jsonl; charset=utf-8"
    )
    response["Content-Disposition"] = 'attachment; filename="inbox.jsonl"'
    response["Cache-Control"] = "no-store"
    return response  # type: ignore[return-value]


@require_safe
@signed_in
def sent(request: SignedInRequest) -> HttpResponse:
    """What was sent in the viewer's name, and how far it is."""
    rows = page_of(request, sending.own(request.principal))
    return render(request, "inbox/sent.html", inbox_frame(request, "sent") | {"rows": rows})


class ReminderForm(forms.Form):
    """A new reminder."""

    text = forms.CharField(max_length=CreateReminder.parameters["properties"]["text"]["maxLength"])
    at = forms.CharField(max_length=64)

    def __init__(self, data: Any, zone: str) -> None:
        super().__init__(data)
        self._zone = zone

    def clean_text(self) -> str:
        """Text without control characters but newline and tab."""
        text: str = self.cleaned_data["text"]
        if not is_plain(text):
            raise forms.ValidationError("Control characters other than newline and tab are not accepted.")
        return text

    def clean_at(self) -> datetime:
        """A moment; without an offset it is in the viewer's own zone."""
        try:
            moment = datetime.fromisoformat(self.cleaned_data["at"].upper())
        except ValueError:
            raise forms.ValidationError(
                "Write it as 2026-03-01T10:00, or as 2026-03-01T10:00:00+01:00 with an offset."
            ) from None
        return moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(self._zone))


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def reminder_list(request: SignedInRequest) -> HttpResponse:
    """The viewer's reminders that wait, the next one first; a POST makes one."""
    zone = profile.of(request.principal).time_zone or "UTC"
    form = ReminderForm(request.POST if request.method == "POST" else None, zone)
    if form.is_valid():
        try:
            reminders.create(request.principal, **form.cleaned_data)
        except Refused as refused:
            form.add_error("at", refused.detail)
        else:
            messages.success(request, "You will be reminded.")
            return redirect("reminders")
    status = 400 if form.is_bound else 200
    context = {"rows": page_of(request, reminders.own(request.principal, waiting=True)), "form": form, "zone": zone}
    return render(request, "inbox/reminders.html", inbox_frame(request, "reminders") | context, status=status)


@require_POST
@signed_in
def delete_reminder(request: SignedInRequest, id: uuid.UUID) -> HttpResponse:
    """Delete a reminder."""
    if not reminders.delete(request.principal, id):
        raise Http404
    messages.success(request, "Deleted the reminder.")
    return redirect("reminders")


def inbox_frame(request: SignedInRequest, tab: str) -> dict[str, Any]:
    """What the templates of `/inbox/` need."""
    return frame(request, "inbox") | {"tab": tab}


def page_of(request: SignedInRequest, rows: Any) -> Any:
    """The page of the rows that `?page=` names."""
    number = request.GET.get("page", "1")
    wanted = int(number) if number.isdecimal() and len(number) < 6 else 1
    return Paginator(rows, SHOWN).get_page(min(wanted, _PAGES_AT_MOST))


urlpatterns = [
    path("", inbox, name="inbox"),
    path("read/", mark_all, name="inbox-read-all"),
    path("export.jsonl", export, name="inbox-export"),
    path("sent/", sent, name="inbox-sent"),
    path("reminders/", reminder_list, name="reminders"),
    path("reminders/<uuid:id>/delete/", delete_reminder, name="reminder-delete"),
    path("<uuid:id>/read/", mark, {"read": True}, name="inbox-read"),
    path("<uuid:id>/unread/", mark, {"read": False}, name="inbox-unread"),
    path("<uuid:id>/delete/", delete, name="inbox-delete"),
]
