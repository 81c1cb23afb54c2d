"""What the commands about tenants and people share: the operator's login, and where a password comes from."""

import getpass
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.db import OperationalError, ProgrammingError, transaction

from tenants.models import Tenant
from tenants.people import changes
from tenants.people.accounts import AccountRefused
from tenants.scope.routing import on_login

# Longer than any password that can be typed; what is larger is the wrong file.
LONGEST = 4096


@contextmanager
def as_operator() -> Iterator[None]:
    """One transaction on the operator's login; a refusal is one clear line."""
    try:
        with on_login("operator"), transaction.atomic(using="operator"), changes.acting(None, "command"):
            yield
    except AccountRefused as refused:
        raise CommandError(str(refused)) from refused
    except OperationalError as error:
        line = str(error).strip().splitlines()[0]
        raise CommandError(f"the login of DATABASE_OPERATOR_URL cannot be used: {line}; run setup_database") from error
    except ProgrammingError as error:
        line = str(error).strip().splitlines()[0]
        raise CommandError(f"the database is not ready: {line}; run setup_database and migrate") from error


def tenant_of(slug: str) -> Tenant:
    """The tenant of that slug. Raises CommandError."""
    found = Tenant.objects.filter(slug=slug).first()
    if found is None:
        raise CommandError(f"there is no tenant {slug!r}")
    return found


def add_password_file(parser: Any) -> None:
    """--password-file FILE, with - for standard input."""
    parser.add_argument(
        "--password-file", metavar="FILE", help="read the password from the first line of FILE; - is standard input"
    )


def password_of(path: str) -> str:
    """The first line of a file, or of standard input for "-". Raises CommandError."""
    try:
        if path == "-":
            text = sys.stdin.readline(LONGEST + 2)
        else:
            with Path(path).open() as file:
                text = file.readline(LONGEST + 2)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise CommandError(f"the password file {path} cannot be read: {reason}") from None
    password = text.rstrip("\r\n")
    if not password or len(password) > LONGEST:
        what = "standard input" if path == "-" else path
        raise CommandError(f"the first line of {what} is {'no' if not password else 'too long for a'} password")
    return password


def asked_password() -> str:
    """The password as typed twice, or the first line of standard input where nobody types. Raises CommandError."""
    if not sys.stdin.isatty():
        return password_of("-")
    password = getpass.getpass("Password: ")
    if password != getpass.getpass("Password (again): "):
        raise CommandError("the two passwords differ")
    return password
