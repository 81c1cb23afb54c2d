"""The database that the tests have migrated, in another cluster: to migrate one takes 20 s of a processor."""

import os
import tempfile
import uuid
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

from gateway.operations.backup import programs


def copy_migrated(target: str) -> None:
    """Make the empty database at `target`, whose cluster has Toolgate's roles, one that is migrated and has no rows
    but those of the migrations."""
    owner = os.environ["DATABASE_OWNER_URL"]
    # The template itself must stay free of connections: others clone it meanwhile.
    name = f"copied_{uuid.uuid4().hex[:12]}"
    database, template = sql.Identifier(name), sql.Identifier(os.environ["TEMPLATE_DATABASE"])
    with psycopg.connect(owner, autocommit=True) as connection, tempfile.TemporaryDirectory() as place:
        major = connection.info.server_version // 10_000
        dump, restore = (programs.find(each, major, "the tests' PostgreSQL") for each in ("pg_dump", "pg_restore"))
        connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(database, template))
        try:
            source, file = urlunsplit(urlsplit(owner)._replace(path=f"/{name}")), Path(place) / "dump"
            # `setup_database` makes the extension, as only a superuser may everywhere.
            programs.run(dump, source, ["--format=custom", "--exclude-extension=vector", f"--file={file}"])
            programs.run(restore, target, ["--no-owner", "--exit-on-error", "--single-transaction", file])
        finally:
            connection.execute(sql.SQL("DROP DATABASE {}").format(database))
