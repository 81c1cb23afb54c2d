"""When a change of a setting raises what may be done or spent: the parts that kinds of settings say it with.

Each takes what was said before and what is said after, None for a setting that is not there (`changes.Raises`).
"""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from tenants.people.changes import Raises, Said
from tenants.people.principal import READERS, scopes_of


def removed(before: Said | None, after: Said | None) -> bool:
    """A setting that restricts, which is taken away."""
    return before is not None and after is None


def is_on(said: Said | None) -> bool:
    """Whether a setting that can be switched off is there, and on."""
    return said is not None and bool(said.values["enabled"])


def switched_on(before: Said | None, after: Said | None) -> bool:
    """It was off, or not there, and is on."""
    return is_on(after) and not is_on(before)


def switched_off(before: Said | None, after: Said | None) -> bool:
    """It was on, and is off or gone."""
    return is_on(before) and not is_on(after)


def while_on(*fields: str) -> Raises:
    """It is on, and was not, or one of these fields is another, secret ones included."""

    def raises(before: Said | None, after: Said | None) -> bool:
        return switched_on(before, after) or (
            is_on(after) and any(_of(before, each) != _of(after, each) for each in fields)
        )

    return raises


def limit_raised(*fields: str, of: Callable[[Any], Any] = Decimal) -> Raises:
    """One of these limits is higher than it was, or there is none any more; None is no limit."""

    def raises(before: Said | None, after: Said | None) -> bool:
        return before is not None and any(
            more(before.values[each], after.values[each] if after else None, of=of) for each in fields
        )

    return raises


def more(old: Any, new: Any, *, of: Callable[[Any], Any] = Decimal) -> bool:
    """Whether a limit lets more through than another; None lets everything."""
    return old is not None and (new is None or of(new) > of(old))


def more_rights(before: Said | None, after: Said | None) -> bool:
    """A role that may do, or read, something that the one before may not."""
    had, has = (_rights(each.values["role"] if each else "") for each in (before, after))
    return bool(has - had)


def _rights(role: str) -> frozenset[str]:
    return scopes_of(role) | ({"the whole history"} if role in READERS else frozenset())


def _of(said: Said | None, field: str) -> Any:
    if said is None:
        return None
    return said.values[field] if field in said.values else said.secrets.get(field)
