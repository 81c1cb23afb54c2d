"""One thing that is broken on purpose, and the SQL that breaks parts of the database."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutation:
    """One guarantee that is broken: `old` becomes `new` in a file of the source, or `sql` runs in the database."""

    name: str
    tests: tuple[str, ...]
    file: str = ""
    old: str = ""
    new: str = ""
    sql: str = ""


def open_policy(table: str) -> str:
    return f"DROP POLICY app ON {table}; CREATE POLICY app ON {table} TO toolgate_app USING (true) WITH CHECK (true)"


def function(name: str, old: str, new: str = "") -> str:
    """SQL that replaces a part of a function's body; it fails where that has no such part."""
    return (
        f"DO $do$ DECLARE body text := pg_get_functiondef('{name}'::regproc); BEGIN "
        f"ASSERT position($old${old}$old$ IN body) > 0, 'the function {name} has no such part'; "
        f"EXECUTE replace(body, $old${old}$old$, $new${new}$new$); END $do$"
    )


ISOLATION = ("tests/tenants/test_catalogue.py", "tests/tenants/test_isolation.py")
CHANGES = "rights_changed_on_insert_update_delete"
