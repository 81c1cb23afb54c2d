"""How many searches of conversations run at a time, so that they leave connections and processors for others.

One that finds little reads megabytes, and everybody's pages and chats use the same database.
"""

import threading
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from gateway.runs.errors import TooManySearches
from tenants.people.principal import Principal

# In one process; PAGES_POOL_SIZE connections are for all that it answers.
PER_PERSON, PER_TENANT, PER_PROCESS = 2, 3, 4

_lock = threading.Lock()
_people: Counter[uuid.UUID] = Counter()
_tenants: Counter[uuid.UUID] = Counter()


@contextmanager
def searching(principal: Principal, words: str) -> Iterator[None]:
    """While the principal's search for `words` is read; without words nothing is searched. Raises TooManySearches."""
    if not words.strip():
        yield
        return
    counted = ((_people, principal.user_id, PER_PERSON), (_tenants, principal.tenant_id, PER_TENANT))
    with _lock:
        if _people.total() >= PER_PROCESS or any(held[whose] >= most for held, whose, most in counted):
            raise TooManySearches(PER_PERSON)
        for held, whose, _ in counted:
            held[whose] += 1
    try:
        yield
    finally:
        with _lock:
            for held, whose, _ in counted:
                held[whose] -= 1
                if not held[whose]:
                    del held[whose]
