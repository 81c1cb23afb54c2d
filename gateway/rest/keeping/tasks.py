"""The caller's tasks over REST: `/api/v1/tasks/`."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_serializer, extend_schema_view
from rest_framework import generics, serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from gateway.rest.framework.rows import RowsView
from gateway.rest.framework.schema import refusals
from gateway.rest.keeping.notes import plain
from gateway.runs.errors import InvalidRequest
from tools.builtin.tasks.add_task import AddTask
from tools.keeping import tasks
from tools.models import Task
from tools.stores import due_moment

_LIMITS = AddTask.parameters["properties"]


@extend_schema_serializer(component_name="Task")
class TaskSerializer(serializers.ModelSerializer[Task]):
    """A task of the caller's; `due_date` is an ISO 8601 date or date-time, as it was given."""

    title = serializers.CharField(
        min_length=1, max_length=_LIMITS["title"]["maxLength"], trim_whitespace=False, validators=[plain]
    )
    due_date = serializers.CharField(source="due_text", allow_null=True, default=None, max_length=64)
    priority = serializers.ChoiceField(choices=Task.Priority.choices, default="medium")
    status = serializers.ChoiceField(choices=Task.Status.choices, read_only=True)

    class Meta:
        model = Task
        fields = ["id", "title", "due_date", "priority", "status", "created_at", "completed_at"]
        read_only_fields = ["created_at", "completed_at"]

    def validate_due_date(self, value: str | None) -> str | None:
        """A moment."""
        try:
            if value is not None:
                due_moment(value)
        except ValueError:
            raise serializers.ValidationError("It must be an ISO 8601 date or date-time, or null.") from None
        return value


@extend_schema_serializer(component_name="TaskChange")
class TaskChange(TaskSerializer):
    """What is to be changed; what is left out stays."""

    status = serializers.ChoiceField(choices=Task.Status.choices)


class _Tasks(RowsView[Task]):
    """The caller's own; row-level security shows no others, and the filter says so once more."""

    scope = "chat"
    serializer_class: Any = TaskSerializer
    lookup_field = "id"
    queryset = Task.objects.none()

    def rows(self) -> QuerySet[Task]:
        """The caller's own tasks."""
        status = self.request.query_params.get("status", "")
        if status and status not in Task.Status.values:
            raise InvalidRequest("status must be pending or completed.", "status")
        return tasks.own(self.principal, status=status)


@extend_schema_view(post=extend_schema(operation_id="create_task"))
class TaskListView(_Tasks, generics.ListCreateAPIView[Task]):
    """Tasks, newest first; a new one."""

    @extend_schema(
        operation_id="list_tasks",
        parameters=[OpenApiParameter("status", str, enum=Task.Status.values)],
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """The caller's tasks, newest first."""
        return super().get(request, *args, **kwargs)

    def perform_create(self, serializer: Any) -> None:
        """A task of the caller's."""
        given = dict(serializer.validated_data)
        serializer.instance = tasks.create(self.principal, due_date=given.pop("due_text"), **given)


@extend_schema_view(get=extend_schema(operation_id="get_task"), delete=extend_schema(operation_id="delete_task"))
class TaskView(_Tasks, generics.RetrieveDestroyAPIView[Task]):
    """One task: read, change, complete, delete."""

    @extend_schema(
        operation_id="update_task", request=TaskChange, responses={200: TaskSerializer, **refusals(InvalidRequest)}
    )
    def patch(self, request: Request, id: Any) -> Response:
        """Change title, due date, priority or status."""
        given = TaskChange(data=request.data, partial=True)
        given.is_valid(raise_exception=True)
        changes = {"due_date" if name == "due_text" else name: value for name, value in given.validated_data.items()}
        task = tasks.change(self.principal, id, changes)
        if task is None:
            raise NotFound("There is no such task of yours.")
        return Response(TaskSerializer(task).data)
