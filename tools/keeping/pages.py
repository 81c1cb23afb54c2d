"""`/notes/` and `/tasks/`: what models keep for the viewer, to read, find, change, delete and take along."""

import uuid
from datetime import datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from tenants.errors import Refused
from tenants.login.access import SignedInRequest, signed_in
from tools.builtin.notes.save_note import SaveNote
from tools.builtin.tasks.add_task import AddTask
from tools.keeping import canvas_pages, exporting, notes, tasks
from tools.keeping.frame import framed, paged
from tools.models import Note, Task
from tools.schemas.arguments import is_plain
from tools.stores import due_moment

_NOTE, _TASK = SaveNote.parameters["properties"], AddTask.parameters["properties"]


class _Plain(forms.CharField):
    """A text without control characters but newline and tab, as it was typed."""

    def clean(self, value: Any) -> Any:
        text = str(super().clean(value) or "").replace("\r\n", "\n")
        if not is_plain(text):
            raise forms.ValidationError("Control characters other than newline and tab are not accepted.")
        return text


class NoteForm(forms.Form):
    """A note as its page shows it; tags are separated by commas."""

    title = _Plain(max_length=_NOTE["title"]["maxLength"])
    content = _Plain(max_length=_NOTE["content"]["maxLength"], required=False, strip=False)
    tags = _Plain(max_length=6000, required=False)
    # The `updated_at` of the note that was read.
    seen = forms.CharField(max_length=40, required=False)

    def clean_tags(self) -> list[str]:
        """Each tag once, in the order they were typed."""
        tags = list(dict.fromkeys(tag.strip() for tag in self.cleaned_data["tags"].split(",") if tag.strip()))
        if len(tags) > _NOTE["tags"]["maxItems"]:
            raise forms.ValidationError(f"A note has at most {_NOTE['tags']['maxItems']} tags.")
        if any(len(tag) > _NOTE["tags"]["items"]["maxLength"] for tag in tags):
            raise forms.ValidationError(f"A tag has at most {_NOTE['tags']['items']['maxLength']} characters.")
        return tags

    def clean_seen(self) -> datetime | None:
        """A moment, or None for a new note."""
        try:
            return datetime.fromisoformat(self.cleaned_data["seen"]) if self.cleaned_data["seen"] else None
        except ValueError:
            raise forms.ValidationError("Read the note again.") from None


class TaskForm(forms.Form):
    """A task as its page shows it."""

    title = _Plain(max_length=_TASK["title"]["maxLength"])
    due_date = forms.CharField(max_length=64, required=False)
    priority = forms.ChoiceField(choices=Task.Priority.choices)

    def clean_due_date(self) -> str | None:
        """ISO 8601, or None."""
        text: str = self.cleaned_data["due_date"]
        try:
            if text:
                due_moment(text)
        except ValueError:
            raise forms.ValidationError(
                "Write it as 2026-03-01, or as 2026-03-01T10:00:00+01:00 with a time."
            ) from None
        return text or None


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def note_list(request: SignedInRequest) -> HttpResponse:
    """The viewer's notes, newest first or those that `?q=` finds; a POST saves a new one."""
    form = NoteForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        given = form.cleaned_data
        notes.create(request.principal, title=given["title"], content=given["content"], tags=given["tags"])
        messages.success(request, "Saved the note.")
        return redirect("notes")
    query = request.GET.get("q", "").strip()[: notes.LONGEST_QUERY]
    tag = request.GET.get("tag", "").replace("\0", "")
    context: dict[str, Any] = {"query": query, "tag": tag, "form": form}
    if query:
        context["found"] = notes.search(query)
    else:
        context["rows"] = paged(request, notes.own(request.principal, tag=tag))
    return render(
        request, "keeping/notes.html", framed(request, "notes") | context, status=400 if form.is_bound else 200
    )


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def note(request: SignedInRequest, id: uuid.UUID) -> HttpResponse:
    """One of the viewer's notes; a POST changes it, unless it was changed since it was read."""
    row = notes.own(request.principal).filter(pk=id).first()
    if row is None:
        raise Http404
    status = 200
    if request.method == "POST":
        form = NoteForm(request.POST)
        if form.is_valid():
            changes = {name: form.cleaned_data[name] for name in ("title", "content", "tags")}
            try:
                notes.change(request.principal, id, changes, form.cleaned_data["seen"])
            except Refused as refused:
                form.add_error(None, refused.detail)
                status = refused.status
            else:
                messages.success(request, "Changed the note.")
                return redirect("note", id)
        else:
            status = 400
    else:
        form = NoteForm(initial={"title": row.title, "content": row.content, "tags": ", ".join(row.tags)})
    return render(request, "keeping/note.html", framed(request, "notes") | {"row": row, "form": form}, status=status)


@require_POST
@signed_in
def delete_note(request: SignedInRequest, id: uuid.UUID) -> HttpResponse:
    """Delete one of the viewer's notes."""
    deleted, _ = Note.objects.filter(pk__in=notes.own(request.principal).filter(pk=id).values("pk")).delete()
    if not deleted:
        raise Http404
    messages.success(request, "Deleted the note.")
    return redirect("notes")


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def task_list(request: SignedInRequest) -> HttpResponse:
    """The viewer's tasks, pending ones by default; a POST adds one."""
    form = TaskForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        tasks.create(request.principal, **form.cleaned_data)
        messages.success(request, "Added the task.")
        return redirect("tasks")
    status = request.GET.get("status", Task.Status.PENDING)
    status = status if status in ("all", *Task.Status.values) else Task.Status.PENDING
    rows = paged(request, tasks.own(request.principal, status="" if status == "all" else status))
    context = {"rows": rows, "form": form, "status": status, "priorities": Task.Priority.choices}
    return render(
        request, "keeping/tasks.html", framed(request, "tasks") | context, status=400 if form.is_bound else 200
    )


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def task(request: SignedInRequest, id: uuid.UUID) -> HttpResponse:
    """One of the viewer's tasks; a POST changes it."""
    row = tasks.own(request.principal).filter(pk=id).first()
    if row is None:
        raise Http404
    initial = {"title": row.title, "due_date": row.due_text or "", "priority": row.priority}
    form = TaskForm(request.POST) if request.method == "POST" else TaskForm(initial=initial)
    if form.is_valid():
        tasks.change(request.principal, id, form.cleaned_data)
        messages.success(request, "Changed the task.")
        return redirect("tasks")
    context = {"row": row, "form": form, "priorities": Task.Priority.choices}
    return render(
        request, "keeping/task.html", framed(request, "tasks") | context, status=400 if form.is_bound else 200
    )


@require_POST
@signed_in
def mark_task(request: SignedInRequest, id: uuid.UUID, status: str) -> HttpResponse:
    """Complete one of the viewer's tasks, or open it again."""
    row = tasks.change(request.principal, id, {"status": status})
    if row is None:
        raise Http404
    messages.success(request, "Completed the task." if status == Task.Status.COMPLETED else "The task is open again.")
    return redirect("tasks")


@require_POST
@signed_in
def delete_task(request: SignedInRequest, id: uuid.UUID) -> HttpResponse:
    """Delete one of the viewer's tasks."""
    deleted, _ = Task.objects.filter(pk__in=tasks.own(request.principal).filter(pk=id).values("pk")).delete()
    if not deleted:
        raise Http404
    messages.success(request, "Deleted the task.")
    return redirect("tasks")


@require_safe
@signed_in
def export(request: SignedInRequest) -> HttpResponse:
    """All of the viewer's notes, tasks, memories, canvases and files, as JSON lines."""
    response = StreamingHttpResponse(
        exporting.lines(request.principal), content_type="application/jsonl; charset=utf-8"
    )
    response["Content-Disposition"] = 'attachment; filename="notes-tasks-and-memories.jsonl"'
    response["Cache-Control"] = "no-store"
    return response  # type: ignore[return-value]


urlpatterns = [
    path("notes/", note_list, name="notes"),
    path("notes/export.jsonl", export, name="notes-export"),
    path("notes/<uuid:id>/", note, name="note"),
    path("notes/<uuid:id>/delete/", delete_note, name="note-delete"),
    path("canvas/<str:token>/", canvas_pages.show, name="canvas"),
    path("tasks/", task_list, name="tasks"),
    path("tasks/<uuid:id>/", task, name="task"),
    path("tasks/<uuid:id>/complete/", mark_task, {"status": "completed"}, name="task-complete"),
    path("tasks/<uuid:id>/reopen/", mark_task, {"status": "pending"}, name="task-reopen"),
    path("tasks/<uuid:id>/delete/", delete_task, name="task-delete"),
]
