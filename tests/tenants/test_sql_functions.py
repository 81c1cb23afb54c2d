"""SQL functions: the text of each is its file, in the tree and in the database."""

import ast
import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

from tenants.scope.sql_files import ROOT, functions

PACKAGES = ("tenants", "tools", "audit", "services", "notifications", "approvals", "gateway")
FILES = {path.stem: path for package in PACKAGES for path in sorted(ROOT.glob(f"{package}/**/sql/*.sql"))}
# Each function's last migration, with the digest of what it loaded, from CREATE to the end of the file.
LOADED = Path(__file__).with_name("sql_functions.json")
CREATED = re.compile(r"\bCREATE\s+(?:OR\s+REPLACE\s+)?FUNCTION\s+(\w+)", re.IGNORECASE)
# Functions of extensions are not ours.
CATALOGUE = """
    SELECT p.proname AS name, pg_get_functiondef(p.oid) AS definition, pg_get_userbyid(p.proowner) AS owner,
        (SELECT array_agg(a::text ORDER BY a::text) FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a)
            AS grants
    FROM pg_proc p WHERE p.pronamespace = %s::regnamespace AND p.prokind IN ('f', 'p') AND NOT EXISTS (
        SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
    ORDER BY p.oid::regprocedure::text"""


def _package(path: Path) -> str:
    return path.parent.parent.relative_to(ROOT).as_posix()


def _digest(path: Path) -> str:
    _, create, text = path.read_text().partition("CREATE ")
    return hashlib.sha256((create + text).encode()).hexdigest()


def _loads() -> dict[str, str]:
    """Each function's last migration, as "app.name"; its number is none of the name."""
    last: dict[str, str] = {}
    for path in sorted(ROOT.glob("*/migrations/0*.py"), key=lambda path: path.name):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "functions":
                package, *names = (ast.literal_eval(argument) for argument in node.args)
                assert all(_package(FILES[name]) == package for name in names), path
                last |= dict.fromkeys(names, f"{path.parts[-3]}.{path.stem[5:]}")
    return last


def test_every_function_of_the_database_is_the_text_of_its_file() -> None:
    # All files are loaded again, into a schema of their own, with bodies checked; then nothing has happened.
    with psycopg.connect(os.environ["DATABASE_OWNER_URL"], row_factory=dict_row) as connection:
        there: list[dict[str, Any]] = connection.execute(CATALOGUE, ["public"]).fetchall()
        connection.execute("CREATE SCHEMA loaded; SET LOCAL search_path = loaded, public")
        for path in FILES.values():
            connection.execute(functions(_package(path), path.stem).encode())
        connection.execute("SET LOCAL check_function_bodies = on")
        for path in FILES.values():
            connection.execute(path.read_bytes())
        connection.execute("SET LOCAL search_path = public")
        loaded: list[dict[str, Any]] = connection.execute(CATALOGUE, ["loaded"]).fetchall()
        connection.rollback()
    assert {row["name"] for row in there} == FILES.keys()
    assert [row["name"] for row in there] == [row["name"] for row in loaded]
    for row, file in zip(there, loaded, strict=True):
        definition = file["definition"].replace("FUNCTION loaded.", "FUNCTION public.", 1)
        assert row == file | {"definition": definition}, row["name"]


def test_the_text_of_a_function_is_in_its_file_and_nowhere_else() -> None:
    quoted = [
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if CREATED.search(path.read_text())
    ]
    assert quoted == []
    paths = [path for package in PACKAGES for path in ROOT.glob(f"{package}/**/*.sql")]
    assert sorted(paths) == sorted(FILES.values())
    for name, path in FILES.items():
        assert CREATED.findall(path.read_text()) == [name], path


def test_every_function_begins_with_what_it_promises() -> None:
    for path in FILES.values():
        comment = path.read_text().partition("CREATE ")[0]
        assert all(line.startswith("-- ") or line == "--" for line in comment.splitlines()), path
        said = " ".join(line.removeprefix("--").strip() for line in comment.splitlines())
        assert re.search(r"Called by|[Aa]nybody may call it|^Trigger", said), path
        assert re.search(r"[Ll]ocks|it reads nothing", said), path


def test_a_function_that_changed_is_loaded_by_a_migration() -> None:
    # A fresh database has the new text anyway; one that is deployed has it only after a migration that loads the file.
    loads = _loads()
    assert loads.keys() == FILES.keys()
    now = {name: {"loaded_by": loads[name], "sha256": _digest(path)} for name, path in sorted(FILES.items())}
    assert now == json.loads(LOADED.read_text()), (
        f"add a migration that loads what changed, then say so in {LOADED.relative_to(ROOT)}"
    )
