"""Who a refusal means by an owner: the names of the tenant's owners, for its own members.

They are looked up when such a refusal is answered, and never stored with it: what is on record says the role alone.
"""

import logging
import re
from typing import Any

import psycopg
from asgiref.sync import async_to_sync
from django.db import connection as django_connection

from tenants.people.principal import Principal
from tenants.scope.transactions import TenantScope, transaction

log = logging.getLogger(__name__)

MOST = 2
_MEANT = re.compile(r"\b(an owner|only owners|owners? of (?:the|this|your) tenant|the scope admin)\b", re.IGNORECASE)
# Those who were here lately first. Who cannot log in can do nothing, and who is no member any more is told no names.
_NAMES = """
    SELECT u.username FROM memberships m JOIN users u ON u.id = m.user_id
    WHERE m.tenant_id = %(tenant)s AND m.role = 'owner' AND u.is_active
        AND EXISTS (SELECT FROM memberships asks WHERE asks.tenant_id = %(tenant)s AND asks.user_id = %(user)s)
    ORDER BY m.last_seen_at DESC NULLS LAST, m.created_at, m.id LIMIT %(most)s"""


def meant(principal: object, words: str) -> bool:
    """Whether the words send a member to an owner, which they are not themselves."""
    return isinstance(principal, Principal) and principal.role != "owner" and _MEANT.search(words) is not None


async def named(principal: object, words: str) -> str:
    """The words, with the names of at most two of the tenant's owners behind them where they mean an owner.

    Reads in a transaction of its own, and nothing where no owner is meant; the words alone when that fails.
    """
    if not isinstance(principal, Principal) or not meant(principal, words):
        return words
    try:
        async with transaction(TenantScope(principal.tenant_id, principal.user_id)) as connection:
            asked: dict[str, Any] = {"tenant": principal.tenant_id, "user": principal.user_id, "most": MOST + 1}
            rows = await (await connection.execute(_NAMES, asked)).fetchall()
    except (psycopg.Error, OSError, TimeoutError):
        log.warning("owners not named", exc_info=True)
        return words
    return words + _said([row["username"] for row in rows])


def named_now(principal: object, words: str) -> str:
    """The same for synchronous code."""
    return async_to_sync(named)(principal, words) if meant(principal, words) else words


def names_beside(principal: object, words: str) -> str:
    """What `named` puts behind the words, "" for nothing; on a page, within the transaction of its tenant."""
    if not isinstance(principal, Principal) or not meant(principal, words):
        return ""
    with django_connection.cursor() as cursor:
        asked: dict[str, Any] = {"tenant": principal.tenant_id, "user": principal.user_id, "most": MOST + 1}
        cursor.execute(_NAMES, asked)
        return _said([name for (name,) in cursor.fetchall()]).strip()


def _said(names: list[str]) -> str:
    if not names:
        return ""
    if len(names) > MOST:
        return f" Owners of your tenant are {', '.join(names[:MOST])} and others."
    if len(names) == 1:
        return f" The owner of your tenant is {names[0]}."
    return f" Owners of your tenant are {' and '.join(names)}."
