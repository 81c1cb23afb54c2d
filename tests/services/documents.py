"""An OpenAPI document of an API like that of a code host, as its vendor would write it."""

import json
from typing import Any

CODE_HOST: dict[str, Any] = {
    "openapi": "3.0.3",
    "info": {"title": "Code host", "version": "1.1.4"},
    "servers": [{"url": "https://api.host.example"}],
    "paths": {
        "/repos/{owner}/{repo}/issues": {
            "parameters": [{"$ref": "#/components/parameters/owner"}, {"$ref": "#/components/parameters/repo"}],
            "get": {
                "operationId": "issues/list-for-repo",
                "summary": "List repository issues",
                "description": "List issues in a repository.",
                "parameters": [
                    {"name": "state", "in": "query", "schema": {"type": "string", "enum": ["open", "closed", "all"]}},
                    {"name": "labels", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}},
                    {"name": "per_page", "in": "query", "schema": {"$ref": "#/components/schemas/page-size"}},
                    {"name": "X-Api-Version", "in": "header", "schema": {"type": "string"}},
                    {"name": "Authorization", "in": "header", "required": True, "schema": {"type": "string"}},
                    {"name": "session", "in": "cookie", "schema": {"type": "string"}},
                ],
                "responses": {"200": {"description": "Issues"}},
            },
            "post": {
                "operationId": "issues/create",
                "summary": "Create an issue",
                "requestBody": {
                    "required": True,
                    "content": {
                        "application/json": {
                            "schema": {
                                "type": "object",
                                "properties": {
                                    "title": {"type": "string", "minLength": 1},
                                    "body": {"type": "string", "nullable": True},
                                    "labels": {"type": "array", "items": {"type": "string"}},
                                    "milestone": {"type": "integer", "minimum": 0, "exclusiveMinimum": True},
                                },
                                "required": ["title"],
                                "xml": {"name": "issue"},
                            }
                        }
                    },
                },
                "responses": {"201": {"description": "Created"}},
            },
        },
        "/repos/{owner}/{repo}/labels": {
            "put": {
                "parameters": [{"$ref": "#/components/parameters/owner"}, {"$ref": "#/components/parameters/repo"}],
                "requestBody": {
                    "content": {"application/json": {"schema": {"type": "array", "items": {"type": "string"}}}},
                    "required": True,
                },
                "responses": {"200": {"description": "Labels"}},
            }
        },
        "/uploads": {
            "post": {
                "operationId": "upload",
                "requestBody": {"required": True, "content": {"application/octet-stream": {"schema": {}}}},
            }
        },
        "/tree": {
            "post": {
                "operationId": "tree",
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/node"}}}},
            }
        },
        "/remote": {
            "get": {
                "operationId": "remote",
                "parameters": [{"name": "q", "in": "query", "schema": {"$ref": "https://evil.example/s.json"}}],
            }
        },
        "/twice/a": {"get": {"operationId": "twice"}},
        "/twice/b": {"get": {"operationId": "twice"}},
    },
    "components": {
        "parameters": {
            "owner": {"name": "owner", "in": "path", "required": True, "schema": {"type": "string"}},
            "repo": {"name": "repo", "in": "path", "required": True, "schema": {"type": "string"}},
        },
        "schemas": {
            "page-size": {"type": "integer", "minimum": 1, "maximum": 100, "default": 30},
            "node": {
                "type": "object",
                "properties": {"children": {"type": "array", "items": {"$ref": "#/components/schemas/node"}}},
            },
        },
    },
}


def document(**paths: Any) -> dict[str, Any]:
    """The same, its paths replaced by these operations, all of them POST /name."""
    changed: dict[str, Any] = json.loads(json.dumps(CODE_HOST))
    changed["paths"] = {f"/{name}": {"post": {"operationId": name, **each}} for name, each in paths.items()}
    return changed
