"""Finding a person's conversations again by the words in their titles and messages."""

import re

from django.db.models import Q, QuerySet
from django.db.models.expressions import RawSQL

from gateway.models import Conversation, Kind
from gateway.runs.errors import InvalidRequest
from tenants.people.principal import Principal

LONGEST = 200
# A search reads at most so many of the person's latest messages, and of each only its beginning: what one search
# costs has a bound, however much somebody has written.
MOST_MESSAGES = 10_000
CHARACTERS = 4000
_WILD, _ESCAPED = re.compile(r"([%_\\])"), r"\\\1"
# ILIKE would make every text lower-case once for each word.
_SAID = """
    SELECT latest.conversation_id FROM (
        SELECT conversation_id, lower(left(content, %s)) AS start FROM messages
        WHERE tenant_id = %s AND user_id = %s ORDER BY created_at DESC LIMIT %s
    ) latest WHERE latest.start LIKE ALL(ARRAY(SELECT lower(word) FROM unnest(%s::text[]) word))"""


def own(principal: Principal, words: str = "", *, workers: bool = False) -> QuerySet[Conversation]:
    """The principal's conversations, and with `workers` those of runs that others began, too; with `words`, those that
    have every word in their title or in one message.

    Upper and lower case are the same. Raises InvalidRequest for more than LONGEST characters.
    """
    conversations = Conversation.objects.filter(tenant_id=principal.tenant_id, user_id=principal.user_id)
    if not workers:
        conversations = conversations.exclude(kind=Kind.WORKER)
    if len(words) > LONGEST:
        raise InvalidRequest(f"q may have up to {LONGEST} characters.", "q")
    if "\x00" in words:
        # PostgreSQL has no such text.
        return conversations.none()
    if not words.strip():
        return conversations
    title = Q()
    for word in words.split():
        title &= Q(title__icontains=word)
    patterns = [f"%{_WILD.sub(_ESCAPED, word)}%" for word in words.split()]
    values = [CHARACTERS, principal.tenant_id, principal.user_id, MOST_MESSAGES, patterns]
    return conversations.filter(title | Q(id__in=RawSQL(_SAID, values)))
