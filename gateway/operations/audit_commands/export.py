"""Write a tenant's part of the log into a file, with everything that it takes to check it without this server."""

import sys
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings
from django.core.management.base import CommandError
from django.utils.dateparse import parse_date, parse_datetime
from psycopg.rows import dict_row

from audit.checks.snapshots import Snapshot
from audit.evidence.exports import Export, NothingSealed
from audit.history import reads
from gateway.operations.audit_commands import files
from tenants.models import Tenant
from tenants.scope.routing import on_login


def add_arguments(parser: Any) -> None:
    """Whose, of which time, where to."""
    parser.add_argument("--tenant", required=True, metavar="SLUG")
    parser.add_argument("--since", type=moment, metavar="TIME", help="ISO 8601; UTC unless it says otherwise")
    parser.add_argument("--until", type=moment, metavar="TIME")
    parser.add_argument("--output", required=True, type=Path, metavar="FILE", help="readable by its owner only")


def handle(options: dict[str, Any]) -> int:
    """Put on record that it is exported, then write it: all of it, or nothing."""
    with on_login("operator"):
        tenant = Tenant.objects.filter(slug=options["tenant"]).values("id", "slug").first()
    if tenant is None:
        raise CommandError(f"there is no tenant {options['tenant']}")
    with (
        psycopg.connect(settings.DATABASE_URLS["operator"], row_factory=dict_row) as connection,
        Snapshot.of(connection) as snapshot,
    ):
        try:
            export = Export.of(snapshot, dict(tenant), options["since"], options["until"])
        except NothingSealed:
            raise CommandError("nothing is sealed yet: is the worker running?") from None
        record(export, reader_id=None, via="command")
        files.write(options["output"], export.lines(snapshot))
    sys.stderr.write(f"{export.end - export.first:,} entries of {export.calls:,} calls\n")
    return 0


def moment(text: str) -> datetime:
    """A time of the command line."""
    day = parse_date(text)
    found = datetime(day.year, day.month, day.day) if day is not None else parse_datetime(text)
    if found is None:
        raise ValueError(text)
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def record(export: Export, *, reader_id: Any, via: str) -> None:
    """Put on record who has a tenant's history exported."""
    filters = {"since": export.since, "until": export.until}
    shown: dict[tuple[uuid.UUID, uuid.UUID | None], int] = {(export.tenant["id"], None): export.calls}
    with on_login("operator"):
        reads.record(reader_id=reader_id, shown=shown, action=reads.Action.EXPORT, via=via, filters=filters)
