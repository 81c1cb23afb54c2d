"""What a verification finds: each says which entry, call, row or checkpoint is wrong, and how."""

import uuid
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong; never contains a payload or a key.

    `rule` names what was broken; `severity` is "error", or "warning" for what may be correct. Where only a range
    of the log can be named, its leaves are [leaf_index, leaf_end).
    """

    rule: str
    text: str
    table: str = ""
    leaf_index: int | None = None
    leaf_end: int | None = None
    seq: int | None = None
    tenant_id: uuid.UUID | None = None
    call_id: uuid.UUID | None = None
    record_id: uuid.UUID | None = None
    columns: tuple[str, ...] = ()
    severity: str = "error"

    def __str__(self) -> str:
        return f"{self.severity}: {self.text}"

    def as_json(self) -> dict[str, Any]:
        """As one line of `--json`."""
        known = {name: value for name, value in asdict(self).items() if value not in (None, "", ())}
        return {name: str(value) if isinstance(value, uuid.UUID) else value for name, value in known.items()}


def id_of(value: Any) -> uuid.UUID | None:
    """An id that may come as text."""
    return uuid.UUID(value) if isinstance(value, str) else value


@dataclass(slots=True)
class Summary:
    """How much was verified."""

    entries: int = 0
    sealed: int = 0
    unsealed: int = 0
    calls: int = 0
    erased: int = 0
    dropped: int = 0
    checkpoints: int = 0
    log_size: int = 0
    origins: list[str] = field(default_factory=list)
    trusted: bool = False
    old_versions: int = 0
    errors: int = 0
    warnings: int = 0

    def count(self, finding: Finding) -> None:
        """Count a finding."""
        if finding.severity == "error":
            self.errors += 1
        else:
            self.warnings += 1
