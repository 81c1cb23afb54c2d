"""A named provider as it is read."""

import uuid
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class NamedProvider:
    """A row of `model_providers`; `own` is a tenant's, and `api_key` is encrypted."""

    id: uuid.UUID
    own: bool
    slug: str
    kind: str
    base_url: str
    api_key: str = field(repr=False)
    listed: tuple[str, ...] | None
    version: int
    enabled: bool

    @classmethod
    def of(cls, row: dict[str, Any]) -> "NamedProvider":
        """Out of a member of what `model_routing` answers."""
        listed = row["listed"]
        return cls(
            uuid.UUID(row["id"]),
            row["own"],
            row["slug"],
            row["kind"],
            row["base_url"],
            row["api_key"],
            None if listed is None else tuple(listed),
            row["version"],
            row["enabled"],
        )
