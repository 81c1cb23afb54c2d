"""Changes of settings: who changes something, what is said of it, and the one function that puts it on record.

A change is recorded in its own transaction, over the same connection: without a record there is no change. The table of
changes and the ledger belong to a package above, which registers its writer here when Django starts.

Recording is also the one place where a change that raises rights, or what may be spent, is held up until whoever makes
it has proved who they are: every change comes through here, whichever page or request made it. So does the check that
a setting is still what it was when the one who changes it read it (`based_on`): of two who edit it at once, the second
one is told.
"""

import hmac
import json
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import Any

from django.utils.crypto import salted_hmac

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


class ChangedMeanwhile(Exception):
    """A setting is not what it was when the one who changes it read it; `now`: what is said of it, None: it is gone.

    No `Refused`, for the same reason.
    """

    def __init__(self, now: "Said | None"):
        super().__init__("changed meanwhile")
        self.now = now


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


@dataclass(slots=True)
class _Expected:
    """What the settings that are changed must be: digests by target. The first one that is changed must be named."""

    digests: dict[str, str]
    met: bool = False

    def check(self, before: Said | None, after: Said | None) -> None:
        target = (after or before).target  # type: ignore[union-attr]
        digest = self.digests.pop(target, None)
        if digest is None and self.met:
            return
        self.met = True
        if digest is None or not hmac.compare_digest(digest.encode(), _digest(before).encode()):
            raise ChangedMeanwhile(before)


_expected: ContextVar[_Expected | None] = ContextVar("toolgate_expected", default=None)


def revision(**said: Said | None) -> str:
    """Names what is said now of settings, by their targets; None is one that is not there.

    It is another one after each change, of their secrets too.
    """
    return ".".join(f"{target}-{_digest(said[target])}" for target in sorted(said))


@contextmanager
def based_on(named: str | None) -> Iterator[None]:
    """Changes inside raise ChangedMeanwhile unless the settings are what this `revision` names; None: let all through.

    Words that are no revision name no setting.
    """
    parts = [part.partition("-") for part in (named or "").split(".")]
    token = _expected.set(None if named is None else _Expected({target: digest for target, _, digest in parts}))
    try:
        yield
    finally:
        _expected.reset(token)


def _digest(said: Said | None) -> str:
    if said is None:
        return "none"
    whole = [str(said.target_id), said.name, dict(said.values), dict(said.secrets)]
    return salted_hmac("toolgate.revision", json.dumps(whole, sort_keys=True, default=str)).hexdigest()[:24]


Writer = Callable[[list[Change]], None]
_writers: list[Writer] = []


def register(writer: Writer) -> None:
    """Say how changes are written, in place of what was said before."""
    _writers[:] = [writer]


def record(before: Said | None, after: Said | None) -> None:
    """Put on record what became of one setting; None is one that is not there. Nothing differs: nothing is recorded.

    To be called in the transaction of the change; raises RuntimeError outside of one, Unconfirmed, and ChangedMeanwhile
    where it is not what the change is `based_on`.
    """
    record_all([(before, after)])


def record_all(pairs: Iterable[tuple[Said | None, Said | None]]) -> None:
    """Put several on record, in their order. Raises as `record` does."""
    made, expected = [], _expected.get()
    for before, after in pairs:
        if expected is not None and (before or after):
            expected.check(before, after)
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
