"""The OpenAPI document of our own API: names, tags, and what every operation may answer besides its own."""

import re
from typing import Any

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse

from gateway.http import problems
from gateway.http.asgi import EVENT_STREAM
from gateway.rest.framework.problem import Problem
from tenants.errors import Refused

# What operations may answer: 400 and 413 where something is sent, 412 where there is
# an ETag, 404 where an address or a cursor names something.
_COMMON = {
    400: "`invalid_request`: the body or a parameter makes no sense.",
    401: "`unauthenticated`: no key or session, or one that is unknown, revoked or expired.",
    403: "`forbidden`: a scope or right is missing, or the CSRF token.",
    404: "`not_found`: there is no such thing, or it is not the caller's to see.",
    412: "`changed_meanwhile`: it is not what `If-Match` names; `now` has what it is.",
    413: "`content_too_large`: the body is larger than what is taken.",
    500: "`internal_error`: the failure was recorded.",
    503: "`unavailable`: the database is away; try again.",
}
_RETRY_AFTER = {"description": "Seconds to wait before asking again.", "schema": {"type": "integer"}}
_RATE_LIMIT = {"description": "See the IETF draft on RateLimit header fields.", "schema": {"type": "string"}}
_ETAG = {"description": "Names what it is now; to be sent as `If-Match`.", "schema": {"type": "string"}}
_IF_MATCH = OpenApiParameter(
    "If-Match", str, OpenApiParameter.HEADER, description="The ETag of what the change is based on; without it, any."
)
_HEADERS = {
    429: {"Retry-After": _RETRY_AFTER, "RateLimit-Policy": _RATE_LIMIT, "RateLimit": _RATE_LIMIT},
    503: {"Retry-After": _RETRY_AFTER},
}

JSON_LINES = "application/x-ndjson"

Responses = dict[tuple[int, str], OpenApiResponse]


def refusals(*errors: type[Refused], shape: type[Problem] = Problem) -> Responses:
    """The responses of an operation that raises these: a problem for each status, with each error's code and why."""
    reasons: dict[int, list[str]] = {}
    for error in errors:
        why = (error.__doc__ or "").partition(".")[0]
        reasons.setdefault(error.status, []).append(f"`{error.code}`: {why[:1].lower()}{why[1:]}.")
    return {
        (status, problems.CONTENT_TYPE): OpenApiResponse(shape, description="\n\n".join(each))
        for status, each in sorted(reasons.items())
    }


def problem(description: str) -> OpenApiResponse:
    """A response that is a problem document."""
    return OpenApiResponse(Problem, description=description)


class ProblemSchema(AutoSchema):
    """drf-spectacular's schema, with problems under each error status, event streams as text, and plain names."""

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        """The operation with its problems."""
        operation: dict[str, Any] | None = super().get_operation(*args, **kwargs)
        if operation is None:
            return None
        responses = operation["responses"]
        for number, why in _COMMON.items():
            if self._may_answer(operation, number):
                described = responses.setdefault(str(number), {"description": "", "content": {}})
                if why.partition(":")[0] not in described["description"]:
                    described["description"] = "\n\n".join(filter(None, [why, described["description"]]))
                ref = self.resolve_serializer(Problem, "response").ref
                described["content"] = {problems.CONTENT_TYPE: {"schema": ref}}
        for number, headers in _HEADERS.items():
            if str(number) in responses:
                responses[str(number)]["headers"] = headers
        if self._etagged and "200" in responses:
            responses["200"]["headers"] = {"ETag": _ETAG}
        for status, response in responses.items():
            if shown := response.get("content", {}).get(problems.CONTENT_TYPE):
                shown["example"] = _example(int(status), response["description"])
            for kind, text in (EVENT_STREAM, "EventStream"), (JSON_LINES, "JSONLines"):
                if stream := response.get("content", {}).get(kind):
                    _as_text(stream, text)
        operation["responses"] = dict(sorted(responses.items()))
        return operation

    def get_tags(self) -> list[str]:
        """The first word of the address: chat and runs are one."""
        tag = self.path.removeprefix("/api/v1/").partition("/")[0]
        return ["runs" if tag == "chat" else tag]

    @property
    def _etagged(self) -> bool:
        return bool(getattr(self.view, "etagged", False))

    def get_override_parameters(self) -> list[Any]:
        """With If-Match of what answers with an ETag."""
        return [*super().get_override_parameters(), *([_IF_MATCH] if self._etagged and self.method != "GET" else ())]

    def _get_format_parameters(self) -> list[dict[str, Any]]:
        """None: what is answered is asked for by Accept."""
        return []

    def _may_answer(self, operation: dict[str, Any], status: int) -> bool:
        parameters = operation.get("parameters", [])
        if status == 412:
            return self._etagged and self.method != "GET"
        if status in (400, 413):
            asked = status == 400 and any(each["in"] == "query" for each in parameters)
            return asked or "requestBody" in operation
        named = any(each["in"] == "path" or each["name"] == "cursor" for each in parameters)
        return status != 404 or named or "404" in operation["responses"]

    def _get_serializer_name(self, serializer: Any, direction: Any, bypass_extensions: bool = False) -> str:
        """`XRequest` of what is sent, `XUpdate` of what is sent to change an X, else `X`."""
        name: str = super()._get_serializer_name(serializer, direction, bypass_extensions)
        if name.startswith("Patched"):
            name = name.removeprefix("Patched").removesuffix("Request").removesuffix("Change") + "Update"
        return name.replace("RequestRequest", "Request")


def _example(status: int, description: str) -> dict[str, Any]:
    """The problem that a response's description names first."""
    named = re.match(r"`(\w+)`: (.+)", description)
    code, why = named.groups() if named else (problems.code_of(status), description)
    return problems.problem(status, code, f"{why[:1].upper()}{why[1:]}")


def _as_text(stream: dict[str, Any], text: str) -> None:
    """Describe a stream as the text that it is, and say in `x-event-schema` what its events are once read.

    Generated clients would read the whole stream as one JSON document if the events were the schema of the body.
    OpenAPI 3.2 has `itemSchema` for it, which generators do not know.
    """
    stream["x-event-schema"] = stream["schema"]
    stream["schema"] = {"$ref": f"#/components/schemas/{text}"}


def plain_nulls(result: dict[str, Any], generator: Any, **more: Any) -> dict[str, Any]:
    """A postprocessing hook: what may be null says so itself, and what may be anything says no more than that."""
    empty = {"$ref": "#/components/schemas/Null"}

    def replaced(node: Any) -> Any:
        if node == empty:
            return {"type": "null"}
        if isinstance(node, dict):
            # Null is valid twice in a oneOf of anything and null.
            anything = node.get("oneOf") == [{}, {"type": "null"}]
            return {name: replaced(value) for name, value in node.items() if not (anything and name == "oneOf")}
        return [replaced(each) for each in node] if isinstance(node, list) else node

    found: dict[str, Any] = replaced(result)
    found["components"]["schemas"].pop("Null", None)
    return found
