"""One operation of an OpenAPI document as a tool: parameters and body (JSON or a form) become one input schema."""

import re
from dataclasses import dataclass
from typing import Any, TypeGuard

from services.errors import InvalidService
from services.offers import definition, placing
from services.offers.definition import Definition, Effort
from services.offers.openapi import multipart, parameters, schemas, servers
from services.offers.placing import Http

# What the argument of a body is called that is no object, or has a name in common with a parameter.
BODY = "body"
_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_JSON = re.compile(r"application/([a-z0-9.+-]+\+)?json|\*/\*", re.IGNORECASE)
_FORM, _MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation where the document has it; `shared` are the parameters of its path, `servers` that path's own."""

    method: str
    path: str
    given: dict[str, Any]
    shared: Any
    servers: Any = None

    @property
    def id(self) -> str:
        """Its operationId; empty without one."""
        found = self.given.get("operationId")
        return found if isinstance(found, str) else ""

    @property
    def title(self) -> str:
        """Its method and path."""
        return f"{self.method} {self.path}"

    @property
    def summary(self) -> str:
        """What it does, in a line; empty where the document does not say."""
        found = self.given.get("summary") or self.given.get("description")
        return " ".join(found.split())[:200] if isinstance(found, str) else ""

    @property
    def at(self) -> str:
        """How errors name it."""
        return f"openapi {self.id or self.title}"[:200]


def tool(slug: str, document: dict[str, Any], operation: Operation, effort: Effort) -> Definition:
    """The operation as a tool; raises InvalidService."""
    at = operation.at
    effort.check(at)
    schema, http = _inputs(document, operation)
    placing.check_path(http.path, f"{at}: its path")
    placing.check_placeholders(http, at, schema)
    definition.check_schema(schema, f"{at}: its parameters")
    name = definition.check_name(slug, _NAME.sub("_", operation.id or operation.title).strip("_-"), f"{at}: its name")
    title = definition.check_words(_words(operation.given, "summary"), f"{at}: its summary", definition.MAX_TITLE)
    described = _words(operation.given, "description") or title or operation.title
    given: dict[str, Any] = {
        "name": name,
        "title": title,
        "description": definition.check_words(
            described, f"{at}: its description", definition.MAX_DESCRIPTION, needed=True
        ),
        "inputSchema": schema,
        "http": http.as_json(),
    }
    return Definition(
        name=name,
        given={field: value for field, value in given.items() if value},
        parameters=definition.shown_schema(
            schema,
            f"{at}: its parameters",
            without=placing.IDENTITY,
            in_path={name for name, place in http.places.items() if place[0] == "path"},
        ),
        http=http.as_json() | {"identity": placing.identity(http, schema)},
    )


def _words(given: dict[str, Any], name: str) -> str:
    value = given.get(name)
    return value if isinstance(value, str) else ""


@dataclass(frozen=True, slots=True)
class _Body:
    """What is sent as a body: `kind` is json, form or multipart, `media` its media type in the document."""

    kind: str
    schema: dict[str, Any]
    needed: bool
    media: dict[str, Any]

    @property
    def fields(self) -> dict[str, Any]:
        """The schemas of its fields, where they are all that it says; else nothing."""
        found = self.schema.get("properties") if self.schema.get("type") == "object" else None
        only = not set(self.schema) - {"type", "properties", "required", "title", "description", "additionalProperties"}
        return found if isinstance(found, dict) and only else {}

    @property
    def required(self) -> list[Any]:
        """The names of the fields that are required."""
        found = self.schema.get("required")
        return found if self.needed and isinstance(found, list) else []


def _inputs(document: dict[str, Any], operation: Operation) -> tuple[dict[str, Any], Http]:
    """One schema of all that the operation takes, and where each of it goes."""
    properties: dict[str, Any] = {}
    required: list[str] = []
    places: dict[str, list[str]] = {}
    lists = [operation.shared, operation.given.get("parameters")]
    for (where, called), parameter in parameters.of(document, lists, operation.at).items():
        name = called if called not in properties else f"{called}_{where}"
        if name in properties:
            raise InvalidService(f"{operation.at} has two parameters {name:.80}.", "operations")
        properties[name] = parameters.schema_of(document, parameter, operation.at)
        if parameter.get("required") is True or where == "path":
            required.append(name)
        places[name] = parameters.place(parameter, properties[name], operation.at)
    body = _body(document, operation)
    if body is not None:
        required += _add(body, properties, places, operation.at)
    whole: dict[str, Any] = {"type": "object", "properties": properties, "required": required}
    own = servers.of(document, operation.given.get("servers"), operation.servers, operation.at)
    kind = body.kind if body is not None else "none"
    return whole, Http(operation.method, operation.path, kind, places, servers=own)


def _add(body: _Body, properties: dict[str, Any], places: dict[str, list[str]], at: str) -> list[str]:
    """Add a body to the arguments, by its fields or as one of them; those that are required."""
    if body.kind == "multipart":
        return _add_parts(body, properties, places, at)
    # A body that is one argument is called "" where it goes.
    if not body.fields or set(body.fields) & {"", *properties}:
        name = BODY if BODY not in properties else f"{BODY}_json"
        properties[name], places[name] = body.schema, ["body", ""]
        return [name] if body.needed else []
    for name, schema in body.fields.items():
        properties[name] = schema
        style = parameters.encoding(name, body.media) if body.kind == "form" else ""
        places[name] = ["body", name, *([style] if style else [])]
    return [name for name in body.fields if name in body.required]


def _add_parts(body: _Body, properties: dict[str, Any], places: dict[str, list[str]], at: str) -> list[str]:
    """Add a form with files, by its fields, since a file can be no part of another argument."""
    required = []
    for called, schema in body.fields.items():
        name = called if called not in properties else f"{called}_{BODY}"
        if name in properties:
            raise InvalidService(f"{at} has two parameters {name:.80}.", "operations")
        properties[name], places[name] = multipart.field(called, schema, body.media)
        required += [name] if called in body.required else []
    return required


def _body(document: dict[str, Any], operation: Operation) -> _Body | None:
    """What is sent as a body: JSON where there is a choice, else a form without files; None without one."""
    if operation.given.get("requestBody") is None or operation.method in ("GET", "HEAD"):
        return None
    body = schemas.followed(document, operation.given["requestBody"], operation.at)
    content, needed = body.get("content"), body.get("required") is True
    offered = {kind.partition(";")[0].strip(): media for kind, media in content.items()} if _is_object(content) else {}
    json = next((media for kind, media in offered.items() if _JSON.fullmatch(kind) and _is_object(media)), None)
    if json is not None:
        return _Body("json", schemas.sent(document, json.get("schema"), operation.at), needed, json)
    if _is_object(form := offered.get(_FORM)):
        return _Body("form", schemas.sent(document, form.get("schema"), operation.at), needed, form)
    if _is_object(form := offered.get(_MULTIPART)):
        files = _Body("multipart", schemas.sent(document, form.get("schema"), operation.at), needed, form)
        if files.fields:
            return files
    if needed:
        words = "needs a body that is neither JSON nor a plain form, with files or without, which is not supported."
        raise InvalidService(f"{operation.at} {words}", "operations")
    return None


def _is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)
