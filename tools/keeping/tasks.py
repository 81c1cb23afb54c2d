"""One's own tasks."""

import uuid
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from tenants.people.principal import Principal
from tools.models import Task
from tools.stores import due_moment


def own(principal: Principal, *, status: str = "") -> QuerySet[Task]:
    """The caller's tasks, newest first; with `status`, those that are pending or completed."""
    tasks = Task.objects.filter(tenant_id=principal.tenant_id, user_id=principal.user_id)
    tasks = tasks.order_by("-created_at", "-id")
    return tasks.filter(status=status) if status else tasks


def create(principal: Principal, *, title: str, due_date: str | None, priority: str) -> Task:
    """A new pending task of the caller's; `due_date` is ISO 8601. Raises ValueError."""
    task = Task(title=title, due_date=due_moment(due_date) if due_date else None, due_text=due_date, priority=priority)
    task.tenant_id, task.user_id = principal.tenant_id, principal.user_id
    task.save(force_insert=True)
    task.refresh_from_db()
    return task


def change(principal: Principal, id: uuid.UUID, changes: dict[str, Any]) -> Task | None:
    """Change title, due_date (ISO 8601 or None), priority or status; None when the caller has no such task.

    Raises ValueError for a due date that names no moment.
    """
    task = own(principal).select_for_update().filter(pk=id).first()
    if task is None:
        return None
    for name, value in changes.items():
        if name == "due_date":
            task.due_date, task.due_text = (due_moment(value) if value else None), value
        else:
            setattr(task, name, value)
    if task.status == Task.Status.COMPLETED:
        task.completed_at = task.completed_at or timezone.now()
    else:
        task.completed_at = None
    task.save()
    return task
