"""The OpenAPI document, and schemathesis over it."""

import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from django.core.management import call_command
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import CheckFunction, not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.people import Cast, make_tenant
from tests.rest.documents import named, problems_of
from tests.stack import Stack
from tests.waiting import PATIENCE_SECONDS

EXAMPLES = 20
CHECKS: list[CheckFunction] = [
    not_a_server_error, content_type_conformance, response_schema_conformance, status_code_conformance
]  # fmt: skip
OPERATIONS = [
    *[("GET", "/api/v1/budgets/"), ("POST", "/api/v1/budgets/")],
    *[("GET", "/api/v1/usage/"), ("GET", "/api/v1/usage.csv")],
    *[(method, "/api/v1/budgets/{id}/") for method in ("GET", "PATCH", "DELETE")],
    *[("GET", "/api/v1/schedules/"), ("POST", "/api/v1/schedules/"), ("POST", "/api/v1/schedules/{id}/run/")],
    *[(method, "/api/v1/schedules/{id}/") for method in ("GET", "PATCH", "DELETE")],
    ("GET", "/api/v1/schedules/{id}/slots/"),
    *[("GET", "/api/v1/sessions/"), ("DELETE", "/api/v1/sessions/"), ("DELETE", "/api/v1/sessions/{id}/")],
    *[("GET", "/api/v1/sign-on/"), ("POST", "/api/v1/sign-on/"), ("POST", "/api/v1/sign-on/{id}/test/")],
    *[(method, "/api/v1/sign-on/{id}/") for method in ("GET", "PATCH", "DELETE")],
    *[("GET", "/api/v1/me/"), ("PATCH", "/api/v1/me/")],
    *[("GET", "/api/v1/notes/"), ("POST", "/api/v1/notes/"), ("GET", "/api/v1/notes/search/")],
    *[(method, "/api/v1/notes/{id}/") for method in ("GET", "PATCH", "DELETE")],
    *[("GET", "/api/v1/memories/"), ("GET", "/api/v1/memories/search/")],
    *[(method, "/api/v1/memories/{id}/") for method in ("GET", "DELETE")],
    *[("GET", "/api/v1/tasks/"), ("POST", "/api/v1/tasks/")],
    *[(method, "/api/v1/tasks/{id}/") for method in ("GET", "PATCH", "DELETE")],
    *[("GET", "/api/v1/inbox/"), ("GET", "/api/v1/inbox/unread/"), ("POST", "/api/v1/inbox/read/")],
    *[(method, "/api/v1/inbox/{id}/") for method in ("GET", "PATCH", "DELETE")],
    *[("GET", "/api/v1/messages/"), ("GET", "/api/v1/messages/{id}/"), ("DELETE", "/api/v1/messages/{id}/")],
    *[("GET", "/api/v1/reminders/"), ("POST", "/api/v1/reminders/")],
    *[(method, "/api/v1/reminders/{id}/") for method in ("GET", "DELETE")],
    *[("GET", "/api/v1/destinations/"), ("POST", "/api/v1/destinations/")],
    *[(method, "/api/v1/destinations/{id}/") for method in ("GET", "PATCH", "DELETE")],
    ("POST", "/api/v1/destinations/{id}/verify/"),
    ("GET", "/api/v1/members/"), ("GET", "/api/v1/members/{id}/"), ("PATCH", "/api/v1/members/{id}/"),
    ("DELETE", "/api/v1/members/{id}/"), ("GET", "/api/v1/invitations/"), ("POST", "/api/v1/invitations/"),
    ("DELETE", "/api/v1/invitations/{id}/"),
    ("GET", "/api/v1/notification-targets/"), ("POST", "/api/v1/notification-targets/"),
    ("GET", "/api/v1/notification-targets/{id}/"), ("PATCH", "/api/v1/notification-targets/{id}/"),
    ("POST", "/api/v1/notification-targets/{id}/test/"),
    ("POST", "/api/v1/chat"), ("GET", "/api/v1/runs/{run_id}"), ("GET", "/api/v1/runs/{run_id}/trace"),
    ("GET", "/api/v1/runs/{run_id}/replay"),
    ("POST", "/api/v1/runs/{run_id}/cancel"), ("GET", "/api/v1/runs/{run_id}/events"),
    ("POST", "/api/v1/runs/{run_id}/stream-token"),
    ("GET", "/api/v1/conversations/"), ("POST", "/api/v1/conversations/"), ("GET", "/api/v1/conversations/{id}/"),
    ("PATCH", "/api/v1/conversations/{id}/"), ("DELETE", "/api/v1/conversations/{id}/"),
    *[(method, "/api/v1/conversations/{id}/files/") for method in ("GET", "PUT")],
    *[(method, "/api/v1/conversations/{id}/files/{file_id}/") for method in ("GET", "DELETE")],
    ("POST", "/api/v1/conversations/{id}/files/{file_id}/restore/"),
    *[("GET", f"/api/v1/conversations/{{id}}/files/{{file_id}}/{what}/") for what in ("content", "versions", "diff")],
    *[(method, "/api/v1/conversations/{id}/canvas/") for method in ("GET", "DELETE")],
    ("GET", "/api/v1/conversations/{id}/canvas/{version}/"),
    ("GET", "/api/v1/conversations/{id}/messages/"), ("GET", "/api/v1/tools/"), ("GET", "/api/v1/tools/{name}/access"),
    ("POST", "/api/v1/tools/{name}/calls"),
    ("GET", "/api/v1/tool-calls/"), ("GET", "/api/v1/tool-calls/{id}/"), ("GET", "/api/v1/tool-calls/{id}/receipt/"),
    ("GET", "/api/v1/ledger/checkpoint"), ("GET", "/api/v1/ledger/keys"),
    ("GET", "/api/v1/approvals/"), ("GET", "/api/v1/approvals/{id}/"), ("POST", "/api/v1/approvals/{id}/approve/"),
    ("POST", "/api/v1/approvals/{id}/deny/"), ("POST", "/api/v1/approvals/{id}/cancel/"),
    ("GET", "/api/v1/approval-rules/"), ("POST", "/api/v1/approval-rules/"), ("GET", "/api/v1/approval-rules/{id}/"),
    ("PATCH", "/api/v1/approval-rules/{id}/"), ("POST", "/api/v1/approval-rules/dry-run/"),
    ("GET", "/api/v1/providers/"), ("POST", "/api/v1/providers/"), ("GET", "/api/v1/providers/{slug}/"),
    ("PATCH", "/api/v1/providers/{slug}/"), ("DELETE", "/api/v1/providers/{slug}/"),
    ("POST", "/api/v1/providers/{slug}/test/"),
    ("GET", "/api/v1/models/"), ("PUT", "/api/v1/models/"), ("PATCH", "/api/v1/models/"),
    ("GET", "/api/v1/services/"), ("POST", "/api/v1/services/"), ("GET", "/api/v1/services/{slug}/"),
    ("PATCH", "/api/v1/services/{slug}/"), ("DELETE", "/api/v1/services/{slug}/"),
    ("POST", "/api/v1/services/{slug}/refresh/"), ("POST", "/api/v1/services/{slug}/test/"),
    ("PATCH", "/api/v1/services/{slug}/tools/{tool}/"), ("POST", "/api/v1/services/{slug}/tools/{tool}/accept/"),
    ("GET", "/api/v1/services/catalogue/"),
    ("GET", "/api/v1/connections/"),
    ("DELETE", "/api/v1/connections/{slug}/"), ("POST", "/api/v1/connections/{slug}/connect/"),
    ("GET", "/api/v1/questions/"), ("GET", "/api/v1/questions/{id}/"), ("POST", "/api/v1/questions/{id}/answer/"),
    ("GET", "/api/v1/keys/"), ("POST", "/api/v1/keys/"), ("GET", "/api/v1/keys/{id}/"),
    ("DELETE", "/api/v1/keys/{id}/"), ("POST", "/api/v1/keys/{id}/rotate/"),
    ("GET", "/api/v1/access-conditions/"), ("POST", "/api/v1/access-conditions/"),
    ("GET", "/api/v1/access-conditions/{id}/"), ("PATCH", "/api/v1/access-conditions/{id}/"),
    ("GET", "/api/v1/limits/"), ("PATCH", "/api/v1/limits/"),
    ("GET", "/api/v1/kill-switches/"), ("POST", "/api/v1/kill-switches/"),
    ("GET", "/api/v1/kill-switches/{id}/"), ("DELETE", "/api/v1/kill-switches/{id}/"),
    ("DELETE", "/api/v1/access-conditions/{id}/"), ("GET", "/api/v1/alert-level/"), ("PUT", "/api/v1/alert-level/"),
    ("GET", "/api/v1/alert-level/webhook/"), ("POST", "/api/v1/alert-level/webhook/"),
    ("DELETE", "/api/v1/alert-level/webhook/"),
    ("GET", "/api/v1/changes/"), ("GET", "/api/v1/agents/{slug}/native"),
    ("POST", "/api/v1/agents/{slug}/test/"),
    ("GET", "/api/v1/tool-settings/"), ("GET", "/api/v1/tool-settings/{name}/"),
    ("PUT", "/api/v1/tool-settings/{name}/"), ("PATCH", "/api/v1/tool-settings/{name}/"),
    ("DELETE", "/api/v1/tool-settings/{name}/"), ("GET", "/api/v1/grants/"), ("POST", "/api/v1/grants/"),
    ("GET", "/api/v1/grants/{id}/"), ("DELETE", "/api/v1/grants/{id}/"),
    ("GET", "/api/v1/agents/"), ("POST", "/api/v1/agents/"), ("GET", "/api/v1/agents/{slug}/"),
    ("PATCH", "/api/v1/agents/{slug}/"), ("DELETE", "/api/v1/agents/{slug}/"),
    ("GET", "/api/v1/agents/{slug}/versions/"), ("POST", "/api/v1/agents/{slug}/versions/{number}/restore/"),
    ("POST", "/api/v1/telemetry/tool-calls"), ("POST", "/api/v1/access-conditions/dry-run/"),
    ("GET", "/api/v1/erasures/"), ("POST", "/api/v1/erasures/"), ("GET", "/api/v1/tenant/"),
    ("PATCH", "/api/v1/tenant/"), ("GET", "/api/v1/runs/{run_id}/tree"),
    ("POST", "/api/v1/conversations/{id}/branch/"),
]  # fmt: skip


@pytest.fixture(scope="module")
def cast() -> Cast:
    """Whose conversations schemathesis fills."""
    return make_tenant()


@pytest.fixture(scope="module")
def document(stack: Stack) -> dict[str, Any]:
    """The document as it is served."""
    answer = httpx.get(f"{stack.url}/api/schema/", headers={"Accept": "application/vnd.oai.openapi+json"})
    assert answer.status_code == 200
    found: dict[str, Any] = answer.json()
    return found


def test_the_document_is_valid_and_names_every_operation(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.")
    schemathesis.openapi.from_dict(document).validate()
    operations = {
        (method.upper(), path)
        for path, item in document["paths"].items()
        if path.startswith("/api/v1/")
        for method in item
        if method != "parameters"
    }
    assert operations == set(OPERATIONS)


def test_the_document_is_made_without_a_warning_and_is_always_the_same(
    document: dict[str, Any], tmp_path: Path
) -> None:
    options: dict[str, Any] = {"format": "openapi-json", "validate": True, "fail_on_warn": True}
    call_command("spectacular", file=str(tmp_path / "here.json"), **options)
    here = json.loads((tmp_path / "here.json").read_text())
    # The one that is served was made in another process, with another hash seed.
    assert json.dumps(here) == json.dumps(document)


def test_operations_and_components_have_names_that_read_well(document: dict[str, Any]) -> None:
    operations = [each for item in document["paths"].values() for each in item.values()]
    names = [operation["operationId"] for operation in operations]
    assert len(set(names)) == len(names)
    assert [name for name in names if not re.fullmatch(r"[a-z]+(_[a-z]+)+", name)] == []
    assert {"create_chat", "get_run", "approve_request", "create_chat_completion"} <= set(names)
    components = set(document["components"]["schemas"])
    assert {name for name in components if re.search(r"RequestRequest|Patched|Enum|Serializer|Body$", name)} == set()
    tags = {tag["name"] for tag in document["tags"]}
    assert {tag for operation in operations for tag in operation["tags"]} == tags


def test_every_operation_has_typed_answers_and_problems(document: dict[str, Any]) -> None:
    for path, item in document["paths"].items():
        for method, operation in item.items():
            for status, response in operation["responses"].items():
                kinds = response.get("content", {})
                assert (status == "204") == (not kinds), (method, path, status)
                for kind, content in kinds.items():
                    structured = kind.endswith("json") or kind == "text/event-stream"
                    assert "$ref" in content["schema"] or not structured, (method, path, status)
                if status >= "400" and path.startswith("/api/v1/"):
                    [(kind, content)] = kinds.items()
                    assert kind == "application/problem+json"
                    assert re.search(r"/\w*Problem$", content["schema"]["$ref"]), (method, path, status)
                    assert problems_of(named("Problem"), content["example"]) == []
            assert {"401", "403", "500", "503"} <= set(operation["responses"]), (method, path)


def test_every_component_is_used(document: dict[str, Any]) -> None:
    used = set(re.findall(r"#/components/schemas/(\w+)", json.dumps(document)))
    assert set(document["components"]["schemas"]) == used


def test_the_document_says_how_to_authenticate(document: dict[str, Any]) -> None:
    schemes = document["components"]["securitySchemes"].values()
    assert {"http"} <= {scheme["type"] for scheme in schemes}
    assert any(scheme.get("scheme") == "bearer" for scheme in schemes)


def test_the_docs_page_loads_nothing_from_elsewhere(stack: Stack) -> None:
    page = httpx.get(f"{stack.url}/api/docs/")
    assert page.status_code == 200
    assert "//cdn" not in page.text
    assert "https://" not in page.text


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_no_generated_request_breaks_an_operation(
    stack: Stack, cast: Cast, document: dict[str, Any], method: str, path: str
) -> None:
    schema = schemathesis.openapi.from_dict(document)
    operation = schema[path][method]

    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(case=operation.as_strategy())
    def generated(case: schemathesis.Case) -> None:
        response = case.call(base_url=stack.url, headers=cast.alice.headers, timeout=PATIENCE_SECONDS)
        case.validate_response(response, checks=CHECKS)

    generated()
