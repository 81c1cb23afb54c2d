"""Database roles: the three groups that migrations grant to, and the logins that belong to them.

owner     migrates; sees through row security; never held by web or worker
app       web and worker; walled in by row security
system    sweeper and partitions; sees every tenant, may do next to nothing
operator  superusers' admin; sees every tenant
"""

from urllib.parse import unquote, urlsplit

import psycopg
from psycopg import sql

from tenants.rls import APP, OPERATOR, SYSTEM

GROUPS = {"default": APP, "system": SYSTEM, "operator": OPERATOR}


class SetupRefused(Exception):
    """The database cannot be set up as asked; the message says what is wrong and what to do."""


def setup(owner_url: str, urls: dict[str, str]) -> list[str]:
    """Make the groups and logins (`urls`: alias → URL) with the owner's login; returns what was done, a line each."""
    done: list[str] = []
    try:
        with psycopg.connect(owner_url, autocommit=True) as connection:
            _check_owner(connection)
            for alias, group in GROUPS.items():
                if _create(connection, group, sql.SQL("CREATE ROLE {} NOLOGIN").format(sql.Identifier(group))):
                    done.append(f"created role {group}")
                parts = urlsplit(urls[alias])
                login, password = unquote(parts.username or ""), unquote(parts.password or "")
                name = sql.Identifier(login)
                if _create(
                    connection, login, sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(name, sql.Literal(password))
                ):
                    done.append(f"created login {login}")
                elif alias != "default":
                    connection.execute(sql.SQL("ALTER ROLE {} LOGIN PASSWORD {}").format(name, sql.Literal(password)))
                _check_walled(connection, login)
                connection.execute(sql.SQL("GRANT {} TO {}").format(sql.Identifier(group), name))
                connection.execute(sql.SQL("GRANT USAGE ON SCHEMA public TO {}").format(sql.Identifier(group)))
    except psycopg.Error as error:
        raise SetupRefused(f"PostgreSQL refused to set up the roles: {str(error).strip().splitlines()[0]}") from error
    return done


def _create(connection: psycopg.Connection, role: str, statement: sql.Composed) -> bool:
    # Asked first, so that a refused statement with a password in it never reaches the server's log.
    if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role]).fetchone() is not None:
        return False
    connection.execute(statement)
    return True


def _check_owner(connection: psycopg.Connection) -> None:
    row = connection.execute(
        "SELECT rolsuper OR rolbypassrls, rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user"
    ).fetchone()
    if row is None or not row[0]:
        raise SetupRefused("the login of DATABASE_OWNER_URL needs BYPASSRLS (ALTER ROLE … BYPASSRLS)")
    if not row[1]:
        raise SetupRefused("the login of DATABASE_OWNER_URL needs CREATEROLE to make Toolgate's roles")


def _check_walled(connection: psycopg.Connection, login: str) -> None:
    row = connection.execute(
        "SELECT rolsuper OR rolbypassrls OR rolname = current_user FROM pg_roles WHERE rolname = %s", [login]
    ).fetchone()
    if row is None or row[0]:
        raise SetupRefused(
            f"the login {login} must be neither the owner nor superuser nor BYPASSRLS: it would see through tenants"
        )
