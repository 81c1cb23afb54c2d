"""SQL functions, each in a file of its own beside the package it belongs to: `<package>/sql/<function>.sql`.

The text of a function exists once, in its file; migrations load the file, and never quote it. A migration therefore
loads what the function is today, also on a fresh database, where tables may have fewer columns than it refers to until
later migrations have run. So bodies are not checked while they are loaded; `tests/tenants/test_sql_functions.py` checks
all of them on a migrated database. docs/internals.md says how to change a function.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def functions(package: str, *names: str) -> str:
    """SQL that creates or replaces functions of a package ("audit/calls"), in this order, with their grants.

    PostgreSQL refuses other names of arguments or another result for a function that exists; a DROP FUNCTION IF EXISTS
    before allows them. It also keeps grants that the file does not mention any more; a REVOKE takes them away.
    """
    texts = (path_of(package, name).read_text(encoding="utf-8") for name in names)
    return f"\nSET LOCAL check_function_bodies = off;\n{''.join(texts)}SET LOCAL check_function_bodies TO DEFAULT;\n"


def path_of(package: str, name: str) -> Path:
    """The file of a function."""
    return ROOT / package / "sql" / f"{name}.sql"
