"""One operation of an OpenAPI document as a tool: parameters and JSON body become one input schema."""

import re
from dataclasses import dataclass
from typing import Any

from services.errors import InvalidService
from services.offers import definition, placing, references, text
from services.offers.definition import Definition, Effort
from services.offers.headers import REFUSED_HEADERS
from services.offers.placing import Http
from tools.schemas.schema import MAX_SCHEMA_BYTES

MAX_PARAMETERS = 200
# What the argument of a body is called that is no object, or has a name in common with a parameter.
BODY = "body"
_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_JSON = re.compile(r"application/([a-z0-9.+-]+\+)?json", re.IGNORECASE)
_HEADER = re.compile(r"[A-Za-z0-9-]{1,100}")
# What 3.0 adds to a schema that says nothing to whoever sends arguments.
_DROPPED = frozenset({"discriminator", "xml", "externalDocs", "example", "$id", "$anchor", "$comment"})


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation where the document has it; `shared` are the parameters of its path."""

    method: str
    path: str
    given: dict[str, Any]
    shared: Any

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
        "http": {"method": http.method, "path": http.path, "body": http.body, "places": http.places},
    }
    return Definition(
        name=name,
        given={field: value for field, value in given.items() if value},
        parameters=definition.shown_schema(
            schema,
            f"{at}: its parameters",
            without=placing.IDENTITY,
            in_path={name for name, (where, _) in http.places.items() if where == "path"},
        ),
        http=http.as_json() | {"identity": placing.identity(http, schema)},
    )


def _words(given: dict[str, Any], name: str) -> str:
    value = given.get(name)
    return value if isinstance(value, str) else ""


def _inputs(document: dict[str, Any], operation: Operation) -> tuple[dict[str, Any], Http]:
    """One schema of all that the operation takes, and where each of it goes."""
    properties: dict[str, Any] = {}
    required: list[str] = []
    places: dict[str, list[str]] = {}
    for (where, called), parameter in _parameters(document, operation).items():
        name = called if called not in properties else f"{called}_{where}"
        if name in properties:
            raise InvalidService(f"{operation.at} has two parameters {name:.80}.", "operations")
        properties[name] = _parameter_schema(document, parameter, operation.at)
        if parameter.get("required") is True or where == "path":
            required.append(name)
        places[name] = [where, called]
    body = _body(document, operation)
    kind = "none"
    if body is not None:
        kind = "json"
        schema, needed = body
        fields = schema.get("properties") if schema.get("type") == "object" else None
        apart = not isinstance(fields, dict) or not fields or set(fields) & set(properties) or _has_more(schema)
        if apart:
            name = BODY if BODY not in properties else f"{BODY}_json"
            properties[name], places[name] = schema, ["body", ""]
            required += [name] if needed else []
        else:
            assert isinstance(fields, dict)
            properties |= fields
            places |= {name: ["body", name] for name in fields}
            wanted = schema.get("required")
            required += [name for name in wanted if name in fields] if needed and isinstance(wanted, list) else []
    whole: dict[str, Any] = {"type": "object", "properties": properties, "required": required}
    return whole, Http(operation.method, operation.path, kind, places)


def _has_more(schema: dict[str, Any]) -> bool:
    """Whether a body is more than its properties, so that these cannot stand among the parameters."""
    return bool(set(schema) - {"type", "properties", "required", "title", "description", "additionalProperties"})


def _parameters(document: dict[str, Any], operation: Operation) -> dict[tuple[str, str], dict[str, Any]]:
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for listed in (operation.shared, operation.given.get("parameters")):
        if listed is None:
            continue
        if not isinstance(listed, list) or len(listed) > MAX_PARAMETERS:
            raise InvalidService(f"{operation.at}: parameters must be a list of up to {MAX_PARAMETERS}.", "operations")
        for each in listed:
            parameter = _followed(document, each, operation.at)
            where, called = parameter.get("in"), parameter.get("name")
            if not isinstance(called, str) or not called or where not in ("path", "query", "header", "cookie"):
                raise InvalidService(f"{operation.at} has a parameter without a name or a place.", "operations")
            text.check(called, f"{operation.at}: a parameter's name")
            found[where, called] = parameter
    return {
        (where, called): parameter
        for (where, called), parameter in found.items()
        # Cookies, and headers that are the connection's or the credential's, are nothing that a model sends.
        if where in ("path", "query") or (where == "header" and _sendable(called))
    }


def _sendable(header: str) -> bool:
    return bool(_HEADER.fullmatch(header)) and header.lower() not in REFUSED_HEADERS | {"accept", "user-agent"}


def _parameter_schema(document: dict[str, Any], parameter: dict[str, Any], at: str) -> Any:
    schema = parameter.get("schema")
    if schema is None:
        # A parameter may be described by a media type instead; it is sent as JSON then.
        content = parameter.get("content")
        [media] = list(content.values())[:1] if isinstance(content, dict) and content else [{}]
        schema = media.get("schema", {}) if isinstance(media, dict) else {}
    if not isinstance(schema, dict):
        schema = {}
    made = _plain(_inlined(document, schema, at))
    described = _words(parameter, "description")
    return made | ({"description": described} if described and "description" not in made else {})


def _body(document: dict[str, Any], operation: Operation) -> tuple[dict[str, Any], bool] | None:
    """The schema of the JSON body, and whether it has to be sent; None without a body."""
    if operation.given.get("requestBody") is None or operation.method in ("GET", "HEAD"):
        return None
    body = _followed(document, operation.given["requestBody"], operation.at)
    content = body.get("content")
    for kind, media in content.items() if isinstance(content, dict) else ():
        if _JSON.fullmatch(kind.partition(";")[0].strip()) and isinstance(media, dict):
            schema = media.get("schema", {})
            made = _plain(_inlined(document, schema if isinstance(schema, dict) else {}, operation.at))
            return made, body.get("required") is True
    if body.get("required") is True:
        raise InvalidService(f"{operation.at} needs a body that is not JSON, which is not supported.", "operations")
    return None


def _followed(document: dict[str, Any], given: Any, at: str) -> dict[str, Any]:
    """What a reference names, a few references later if need be; raises InvalidService."""
    for _ in range(5):
        if not isinstance(given, dict):
            break
        pointer = given.get("$ref")
        if pointer is None:
            return given
        given = references.named(document, pointer, at)
    raise InvalidService(f"{at} has a reference that leads to no object.", "operations")


def _inlined(document: dict[str, Any], schema: dict[str, Any], at: str) -> dict[str, Any]:
    made = references.inlined(schema, f"{at}: its parameters", definition.MAX_DEPTH, MAX_SCHEMA_BYTES, document)
    return made


def _plain(schema: Any) -> Any:
    """A schema of 3.0 as JSON Schema has it: what may be null says so, and exclusive bounds are numbers."""
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {
        name: _plain_named(name, value)
        for name, value in schema.items()
        if name not in _DROPPED and not name.startswith("x-")
    }
    nullable = made.pop("nullable", None) is True
    for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(made.get(exclusive), bool):
            said = made.pop(exclusive)
            if said and bound in made:
                made[exclusive] = made.pop(bound)
    if nullable:
        if isinstance(made.get("type"), str):
            made["type"] = [made["type"], "null"]
        if isinstance(made.get("enum"), list) and None not in made["enum"]:
            made["enum"] = [*made["enum"], None]
    return made


def _plain_named(name: str, value: Any) -> Any:
    if name in ("enum", "const", "default", "examples", "required"):
        return value
    if name in ("properties", "patternProperties", "dependentSchemas") and isinstance(value, dict):
        # These map names to schemas: a property may be called "example".
        return {each: _plain(schema) for each, schema in value.items()}
    return _plain(value)
