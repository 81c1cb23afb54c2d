"""Calls of a descriptor's tools without a stack: the request as a worker makes it, to an API of the test."""

import uuid
from ipaddress import ip_network
from typing import Any

from django.test import override_settings

from services.credentials import Credential
from services.execution.tool import Declared, Endpoint, HttpTool
from services.offers import descriptor
from services.offers.definition import Definition
from tests.services.api import OUTSIDE
from tests.waiting import PATIENCE_SECONDS
from tools.interface import ToolContext
from tools.schemas import schema


def allowed() -> override_settings:
    """The egress guard as the operator of these tests has it."""
    return override_settings(TOOLGATE_EGRESS_ALLOW=(frozenset(), (ip_network(f"{OUTSIDE}/32"),)))


def one(given: dict[str, Any], name: str = "") -> Definition:
    """The tool of that name, else the only tool, of a descriptor."""
    [found] = [each for each in descriptor.read("desk", given).tools if not name or each.name == name]
    return found


def violation(tool: Definition, params: dict[str, Any]) -> str:
    """What the gate `schema` says of the arguments; empty when it lets them through."""
    found = schema.check(tool.parameters, params)
    return "" if found is None else f"{found.field}: {found.message}"


async def called(tool: Definition, url: str, params: dict[str, Any], credential: Credential | None = None) -> Any:
    """The output of a call; raises ToolError."""
    assert tool.http is not None
    assert violation(tool, params) == ""
    declared = Declared(f"desk.{tool.name}", "A tool.", tool.parameters, "elevated", False, False, 20.0, "")
    made = HttpTool(declared, Endpoint("desk", url, tool.http, credential or Credential()))
    context = ToolContext(uuid.uuid4(), uuid.uuid4(), uuid.uuid4(), None, None, PATIENCE_SECONDS)
    return (await made.execute(params, context)).output
