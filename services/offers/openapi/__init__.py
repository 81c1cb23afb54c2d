"""OpenAPI 3.0 and 3.1 documents as offers: `document` finds the chosen operations, `operation` makes each a tool."""

from services.offers.openapi.document import Choice, choices, read

__all__ = ["Choice", "choices", "read"]
