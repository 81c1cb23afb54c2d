"""Schedules over REST: one's own; owners and auditors see the tenant's, and owners pause and delete them."""

from typing import Any

from asgiref.sync import sync_to_async
from django.db import connections
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_field, extend_schema_serializer, extend_schema_view
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gateway.models import Run
from gateway.rest.approvals.request_serializers import Someone
from gateway.rest.chat.run_serializers import RUN_STATUSES
from gateway.rest.framework.asynchronous import AsyncView
from gateway.rest.framework.pagination import Pages
from gateway.rest.framework.rows import RowsView
from gateway.rest.framework.schema import ProblemSchema, refusals
from gateway.runs.errors import InvalidRequest, NoSuchAgent
from gateway.schedules import changes, firing
from gateway.schedules.errors import InvalidSchedule, NoSuchSchedule, NotYourSchedule, TooManySchedules
from gateway.schedules.models import Schedule, ScheduleSlot
from tenants.people import profile
from tenants.scope import transactions


@extend_schema_serializer(component_name="Schedule")
class ScheduleSerializer(serializers.ModelSerializer[Schedule]):
    """What is asked again and again, and when. Another member's `content` is null."""

    user = Someone(help_text="Whose it is, and in whose name it runs.")
    agent = serializers.CharField(
        source="agent.slug", default=None, allow_null=True, help_text="Null: the tenant's default agent."
    )
    content = serializers.SerializerMethodField()
    paused_because = serializers.CharField(help_text="Why it is paused, when its owner did not pause it.")
    call_id = serializers.UUIDField(allow_null=True, help_text="The tool call that made it; null: a person did.")

    class Meta:
        model = Schedule
        fields = [
            *("id", "user", "cron", "tz", "agent", "content", "enabled", "paused_because", "next_at", "call_id"),
            "created_at",
        ]

    @extend_schema_field(serializers.CharField(allow_null=True))
    def get_content(self, row: Schedule) -> str | None:
        """The words of whoever reads them, and of nobody else."""
        return row.content if row.user_id == self.context["reader"] else None


@extend_schema_serializer(component_name="ScheduleRequest")
class WantedSchedule(serializers.Serializer[Any]):
    """A schedule to be made."""

    cron = serializers.CharField(help_text="Five fields, such as `0 9 * * 1-5`.")
    tz = serializers.CharField(required=False, help_text="Such as Europe/Berlin; the caller's own without it.")
    agent = serializers.CharField(
        required=False, allow_null=True, help_text="A slug; null or left out: the tenant's default agent."
    )
    content = serializers.CharField(trim_whitespace=False, help_text="What the agent is asked.")
    enabled = serializers.BooleanField(default=True)


@extend_schema_serializer(component_name="ScheduleChange")
class ChangedSchedule(WantedSchedule):
    """What is to be changed; what is left out stays."""


@extend_schema_serializer(component_name="ScheduleSlot")
class SlotSerializer(serializers.ModelSerializer[ScheduleSlot]):
    """A time at which a schedule was due, or was run by hand, and what came of it."""

    cause = serializers.ChoiceField(choices=ScheduleSlot.Cause.choices)
    status = serializers.ChoiceField(choices=ScheduleSlot.Status.choices)
    code = serializers.CharField(allow_null=True, help_text="Why it was skipped or refused.")
    message = serializers.CharField(allow_null=True)
    run_id = serializers.UUIDField(allow_null=True, help_text="Null once the run is erased, too.")
    run_status = serializers.ChoiceField(source="run.status", choices=RUN_STATUSES, allow_null=True, default=None)

    class Meta:
        model = ScheduleSlot
        fields = ["slot_at", "cause", "status", "code", "message", "run_id", "run_status"]


class _NewestSlotFirst(Pages):
    ordering = ("-slot_at", "-id")  # type: ignore[assignment]


class _Schedules(RowsView[Any]):
    """One's own; owners and auditors see the tenant's."""

    scope = "chat"
    serializer_class = ScheduleSerializer
    queryset = Schedule.objects.none()

    def rows(self) -> QuerySet[Schedule]:
        """Those that the caller sees."""
        return changes.seen_by(self.principal)

    def shown(self, rows: Any, *, many: bool = False) -> Any:
        """As the API says them."""
        return ScheduleSerializer(rows, many=many, context={"reader": self.principal.user_id}).data

    def given(self, request: Request, *, partial: bool) -> dict[str, Any]:
        """What the body says. Raises InvalidRequest for a field that is none."""
        if not isinstance(request.data, dict):
            raise InvalidRequest("The body must be a JSON object.")
        for name in request.data:
            if name not in WantedSchedule().fields:
                raise InvalidRequest(f"{name:.80} is not known here.", name[:80])
        given = WantedSchedule(data=request.data, partial=partial)
        given.is_valid(raise_exception=True)
        return {name: value for name, value in given.validated_data.items() if name in request.data or not partial}


@extend_schema_view(get=extend_schema(operation_id="list_schedules"))
class ScheduleListView(_Schedules):
    """Schedules, newest first; a new one."""

    @extend_schema(responses={200: ScheduleSerializer(many=True)})
    def get(self, request: Request) -> Response:
        """The caller's; owners and auditors see all of the tenant."""
        return self.get_paginated_response(self.shown(self.paginate_queryset(self.get_queryset()), many=True))

    @extend_schema(
        operation_id="create_schedule",
        request=WantedSchedule,
        responses={
            201: ScheduleSerializer,
            **refusals(InvalidRequest, InvalidSchedule, NoSuchAgent, TooManySchedules),
        },
    )
    def post(self, request: Request) -> Response:
        """Make a schedule of one's own, which runs with the rights that one has then."""
        given = self.given(request, partial=False)
        given.setdefault("tz", profile.of(self.principal).time_zone)
        return Response(self.shown(changes.add(self.principal, **given)), 201)


class ScheduleView(_Schedules):
    """One schedule."""

    @extend_schema(operation_id="get_schedule", responses={200: ScheduleSerializer, **refusals(NoSuchSchedule)})
    def get(self, request: Request, id: Any) -> Response:
        """When it is due, and what it asks."""
        return Response(self.shown(changes.found(self.principal, id)))

    @extend_schema(
        operation_id="update_schedule",
        request=ChangedSchedule,
        responses={
            200: ScheduleSerializer,
            **refusals(InvalidRequest, InvalidSchedule, NoSuchAgent, NoSuchSchedule, NotYourSchedule),
        },
    )
    def patch(self, request: Request, id: Any) -> Response:
        """Change one's own. Another member's is paused by an owner with `{"enabled": false}`, and no more than that."""
        # What is not there is not found, whatever is said of it.
        changes.found(self.principal, id)
        return Response(self.shown(changes.change(self.principal, id, self.given(request, partial=True))))

    @extend_schema(operation_id="delete_schedule", responses={204: None, **refusals(NoSuchSchedule, NotYourSchedule)})
    def delete(self, request: Request, id: Any) -> Response:
        """Delete one's own, or as an owner another's; its runs stay."""
        changes.remove(self.principal, id)
        return Response(status=204)


class ScheduleSlotsView(_Schedules):
    """What became of a schedule's times."""

    serializer_class: Any = SlotSerializer
    pagination_class = _NewestSlotFirst

    @extend_schema(
        operation_id="list_schedule_slots",
        responses={200: SlotSerializer(many=True), **refusals(NoSuchSchedule)},
    )
    def get(self, request: Request, id: Any) -> Response:
        """Newest first."""
        slots: Any = changes.slots(changes.found(self.principal, id))
        page: Any = self.paginate_queryset(slots)
        return self.get_paginated_response(SlotSerializer(page, many=True).data)


class ScheduleRunView(AsyncView):
    """Run now."""

    scope = "chat"
    schema = ProblemSchema()

    @extend_schema(
        operation_id="run_schedule",
        request=None,
        responses={201: SlotSerializer, **refusals(NoSuchSchedule, NotYourSchedule)},
    )
    async def post(self, request: Request, id: Any) -> Response:
        """Begin a run of one's own schedule, paused or not: the new slot, which says so when it has none."""
        await sync_to_async(self._refuse_others)(id)
        slot = await firing.run(self.tenant_scope, id)
        shown = ScheduleSlot(slot_at=slot.slot_at, cause="run_now", status=slot.status, code=slot.code)
        shown.message, shown.run_id = slot.message, slot.run_id
        if slot.run_id is not None:
            shown.run = Run(id=slot.run_id, status=Run.Status.IN_PROGRESS)
        return Response(SlotSerializer(shown).data, 201)

    def _refuse_others(self, id: Any) -> None:
        try:
            with transactions.scope(*self.tenant_scope):
                changes.refuse_others(self.principal, id)
        finally:
            connections["default"].close()
