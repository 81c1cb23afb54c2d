"""OpenAPI 3.0 to 3.2 documents as offers: `document` finds the chosen operations, `operation` makes each a tool out of
its `parameters` and its body, whose schemas `schemas` reads; `multipart` has the fields of forms with files, and
`servers` where an operation is called that has servers of its own.
"""

from services.offers.openapi.document import Choice, choices, read

__all__ = ["Choice", "choices", "read"]
