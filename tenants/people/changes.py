"""Changes of settings: who changes something, what is said of it, and the one function that puts it on record.

A change is recorded in its own transaction, over the same connection: without a record there is no change. The table of
changes and the ledger belong to a package above, which registers its writer here when Django starts.

Recording is also the one place where a change that raises rights, or what may be spent, is held up until whoever makes
it has proved who they are: every change comes through here, whichever page or request made it.
"""

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import Any

# Of a secret nothing is said but these.
NONE, SET, REPLACED = "none", "set", "set anew"


@dataclass(frozen=True, slots=True)
class Actor:
    """Who changes settings: a person, or None for a command, a signed message and Toolgate itself; `via` is page, api,
    admin, command, webhook or toolgate. `confirmed`: they have proved lately who they are, or need not."""

    user_id: uuid.UUID | None
    via: str
    confirmed: bool = True


class Unconfirmed(Exception):
    """The change raises what may be done or spent, and whoever makes it has to prove first who they are.

    No `Refused`: a page that shows refusals in its form must not take it, since the change is to be undone.
    """


TOOLGATE = Actor(None, "toolgate")
_actor: ContextVar[Actor] = ContextVar("toolgate_actor", default=TOOLGATE)


def actor() -> Actor:
    """Who changes settings here: what `acting` said last, else Toolgate itself."""
    return _actor.get()


@contextmanager
def acting(user_id: uuid.UUID | None, via: str, *, confirmed: bool = True) -> Iterator[None]:
    """Settings that are changed inside are changed by this person, over `via`; see Actor for `confirmed`."""
    token = _actor.set(Actor(user_id, via, confirmed))
    try:
        yield
    finally:
        _actor.reset(token)


@dataclass(frozen=True, slots=True)
class Said:
    """What is said of one setting at one moment; `values` are JSON values by field, `secrets` stay in this process."""

    tenant_id: uuid.UUID
    target: str
    target_id: uuid.UUID | None
    name: str
    values: Mapping[str, Any]
    secrets: Mapping[str, Any] = field(default_factory=dict, repr=False)
    raises: "Raises | None" = field(default=None, repr=False, compare=False)


# Whether a change raises what may be done or spent; None is a setting that is not there.
Raises = Callable[[Said | None, Said | None], bool]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of setting: which fields of its rows are said. `name` is the field that says which it is, `id` its id.

    Of the fields in `secrets` it is only said whether they are set, and that they were set anew. `raises` says of a
    change whether it raises what may be done or spent; without it none does.
    """

    target: str
    name: str
    fields: tuple[str, ...]
    secrets: tuple[str, ...] = ()
    id: str = "pk"
    tenant: str = "tenant_id"
    raises: Raises | None = None

    def of(self, row: Any, **more: Any) -> Said:
        """What is said of a row now, and `more` of the caller's."""
        return Said(
            tenant_id=getattr(row, self.tenant),
            target=self.target,
            target_id=getattr(row, self.id),
            name=str(getattr(row, self.name)) if self.name else "",
            values={name: plain(getattr(row, name)) for name in self.fields} | more,
            secrets={name: getattr(row, name) for name in self.secrets},
            raises=self.raises,
        )


@dataclass(frozen=True, slots=True)
class Change:
    """A setting that was created, changed or deleted: `values` are [before, after] by field, null where there was
    none."""

    said: Said
    action: str
    values: dict[str, list[Any]]
    by: Actor


Writer = Callable[[list[Change]], None]
_writers: list[Writer] = []


def register(writer: Writer) -> None:
    """Say how changes are written, in place of what was said before."""
    _writers[:] = [writer]


def record(before: Said | None, after: Said | None) -> None:
    """Put on record what became of one setting; None is one that is not there. Nothing differs: nothing is recorded.

    To be called in the transaction of the change; raises RuntimeError outside of one, and Unconfirmed.
    """
    record_all([(before, after)])


def record_all(pairs: Iterable[tuple[Said | None, Said | None]]) -> None:
    """Put several on record, in their order. Raises as `record` does."""
    made = []
    for before, after in pairs:
        if (change := between(before, after)) is not None:
            made.append(change)
            if not change.by.confirmed and change.said.raises and change.said.raises(before, after):
                raise Unconfirmed
    if not made:
        return
    if not _writers:
        raise LookupError("no installed app has registered how changes are written (tenants.people.changes)")
    _writers[0](made)


def between(before: Said | None, after: Said | None) -> Change | None:
    """What became of a setting, by whoever acts now; None when nothing did."""
    said = after or before
    if said is None:
        return None
    old: Mapping[str, Any] = before.values if before else {}
    new: Mapping[str, Any] = after.values if after else {}
    values = {
        name: [old.get(name), new.get(name)] for name in [*old, *new] if old.get(name) != new.get(name)
    } | _secrets(before.secrets if before else {}, after.secrets if after else {})
    if before and after and before.name != after.name:
        values["name"] = [before.name, after.name]
    if before and after and not values:
        return None
    return Change(said, "changed" if before and after else "created" if after else "deleted", values, actor())


def _secrets(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, list[Any]]:
    found = {}
    for name in {**old, **new}:
        was, is_now = old.get(name) or "", new.get(name) or ""
        if was != is_now:
            found[name] = [SET if was else NONE, (REPLACED if was else SET) if is_now else NONE]
    return found


def plain(value: Any) -> Any:
    """A value of a row as JSON has it."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, Decimal):
        return f"{value.normalize():f}"
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list | tuple | set | frozenset) else value
