"""Kill switches over REST: `/api/v1/kill-switches/`. Approvers and auditors read them, owners put them on and off."""

import uuid
from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_serializer
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response

from approvals.requests import parsing
from gateway.rest.framework.schema import ProblemSchema, refusals
from gateway.runs.errors import InvalidRequest
from tenants.login.reauthentication import ReauthenticationRequired
from tenants.login.views import WithinTenant
from tenants.models import KillSwitch
from tenants.switches import changes, reading
from tenants.switches.changes import NewSwitch
from tenants.switches.errors import InvalidSwitch, NoSuchSwitch, OperatorsSwitch
from tenants.switches.on import Switch
from tools.schemas.arguments import shown

_TARGET = (
    "One of: tool (its name), service, agent (its slug), user (an id or a username), model (provider/model or "
    "provider/*), tenant (its slug or id)."
)


@extend_schema_serializer(component_name="KillSwitch")
class KillSwitchSerializer(serializers.Serializer[Any]):
    """Something that is stopped."""

    id = serializers.UUIDField()
    target = serializers.DictField(
        child=serializers.CharField(), help_text=f"{_TARGET} The operator's: everything, too."
    )
    reason = serializers.CharField()
    until = serializers.DateTimeField(allow_null=True, help_text="When it ends by itself; null: never.")
    created_at = serializers.DateTimeField()
    set_by = serializers.CharField(allow_null=True, help_text="A username; null for the operator and who is gone.")
    by_operator = serializers.BooleanField(help_text="Only the operator can end it.")


@extend_schema_serializer(component_name="KillSwitches")
class KillSwitchesSerializer(serializers.Serializer[Any]):
    """All that are on, on one page."""

    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)
    results = KillSwitchSerializer(many=True)


class KillSwitchRequest(serializers.Serializer[Any]):
    """Something to be stopped."""

    target = serializers.DictField(child=serializers.CharField(allow_blank=True), help_text=_TARGET)
    reason = serializers.CharField(max_length=changes.MAX_REASON, help_text="Whoever is stopped reads it.")
    until = serializers.DateTimeField(required=False, allow_null=True)


def _shown(switch: Switch) -> dict[str, Any]:
    return {
        "id": switch.id,
        "target": {switch.kind: switch.target},
        "reason": switch.reason,
        "until": switch.until,
        "created_at": switch.since,
        "set_by": switch.set_by or None,
        "by_operator": switch.by_operator,
    }


class _Switches(WithinTenant, generics.GenericAPIView[KillSwitch]):
    schema = ProblemSchema()
    serializer_class = KillSwitchSerializer
    queryset = KillSwitch.objects.none()
    filter_backends: list[Any] = []
    pagination_class = None

    @property
    def scope(self) -> str:  # type: ignore[override]
        """What the request asks for."""
        return "approvals:read" if self.request.method in ("GET", "HEAD", "OPTIONS") else "admin"


class KillSwitchListView(_Switches):
    """All that are on; a new one."""

    @extend_schema(operation_id="list_kill_switches", responses={200: KillSwitchesSerializer})
    def get(self, request: Request) -> Response:
        """Those of the tenant, and the operator's that stop it, the oldest first; one that has ended is not listed."""
        found = [_shown(each) for each in reading.on_now()]
        return Response({"next": None, "previous": None, "results": found})

    @extend_schema(
        operation_id="create_kill_switch",
        request=KillSwitchRequest,
        responses={201: KillSwitchSerializer, **refusals(InvalidSwitch)},
    )
    def post(self, request: Request) -> Response:
        """Stop it: queued, waiting and approved calls, new requests, and the next turns of runs under way."""
        given = parsing.read(self.request._request.read(parsing.MAX_BYTES + 1))
        for name in given:
            if name not in KillSwitchRequest().fields:
                raise InvalidRequest(f"{shown(name)} is not known here.", shown(name))
        read = KillSwitchRequest(data=given)
        read.is_valid(raise_exception=True)
        values = dict(read.validated_data)
        if len(values["target"]) != 1:
            raise InvalidSwitch("Name one target.", "target")
        [(kind, target)] = values["target"].items()
        wanted = NewSwitch(kind, target, values["reason"], values.get("until"))
        made = changes.put_on(self.principal.tenant_id, wanted)
        return Response(next(_shown(each) for each in reading.on_now() if each.id == made.id), 201)


class KillSwitchView(_Switches):
    """One that is on."""

    @extend_schema(operation_id="get_kill_switch", responses={200: KillSwitchSerializer, **refusals(NoSuchSwitch)})
    def get(self, request: Request, id: uuid.UUID) -> Response:
        """Who, why, until when."""
        found = next((each for each in reading.on_now() if each.id == id), None)
        if found is None:
            raise NoSuchSwitch(id)
        return Response(_shown(found))

    @extend_schema(
        operation_id="delete_kill_switch",
        responses={204: None, **refusals(NoSuchSwitch, OperatorsSwitch, ReauthenticationRequired)},
    )
    def delete(self, request: Request, id: uuid.UUID) -> Response:
        """End it: what it stopped may go on from now on. What was refused meanwhile stays refused."""
        changes.end(self.principal.tenant_id, id)
        return Response(status=204)
