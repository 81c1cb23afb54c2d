"""A row of the table of rights."""

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.people import Cast
from tests.rights import rows
from tests.stack import Stack

ROLES = {"member": "alice", "approver": "carol", "auditor": "dana", "owner": "olga"}
EVERYBODY = frozenset(ROLES)
OWNERS = frozenset({"owner"})
# Who reads the whole history of the tenant.
READERS = frozenset({"auditor", "owner"})
DECIDERS = frozenset({"approver", "owner"})
ALL_BUT_MEMBERS = EVERYBODY - {"member"}
# Only the operator does it: with a command, or as a superuser in the admin.
NOBODY = frozenset[str]()


@dataclass(frozen=True)
class Action:
    """One thing that people do, and the roles that may.

    `api` and `page` are requests, such as "GET /api/v1/keys/<id>/", with the names that the route's parameters have;
    `command` are commands of manage.py, which take the operator's login and no role. `body` is sent, with values like
    "<call>" replaced. `given` makes values by name, for parameters and body, where the answer to an unknown one hides
    who may; other parameters get what nothing is called. The roles in `hidden_from` do not see the thing: 404, not 403.
    `asks` are the kinds of settings (`tenants.people.changes.Kind`) of which a change that raises what may be done or
    spent asks a session for the password again.
    """

    what: str
    may: frozenset[str]
    api: tuple[str, ...] = ()
    page: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    body: Mapping[str, Any] = field(default_factory=dict)
    hidden_from: frozenset[str] = NOBODY
    asks: tuple[str, ...] = ()
    given: Callable[[Stack, Cast], dict[str, str]] | None = None


def areas() -> dict[str, list[Action]]:
    """The rows, by the name of their module."""
    names = sorted(each.name for each in pkgutil.iter_modules(rows.__path__))
    return {name: list(importlib.import_module(f"{rows.__name__}.{name}").ROWS) for name in names}
