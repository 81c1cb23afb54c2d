"""The socket of a person's inbox, `/ws/inbox/`: tells how many entries are unread.

    ← {"type": "unread", "count": n, "more": false}   when it begins to tell, and whenever the inbox changes

`more`: there are more than `count`. Frames that a client sends are ignored.
"""

import uuid
from typing import Any

from approvals.web.live_socket import LiveConsumer
from notifications.inbox import entries, live
from tenants.people.principal import Principal
from tenants.scope import transactions


class InboxConsumer(LiveConsumer):
    """One socket of one person's inbox."""

    scope_needed = "chat"

    def group(self, principal: Principal) -> str:
        """The person's inbox."""
        return live.group(principal.tenant_id, principal.user_id)

    def ready(self, principal: Principal) -> dict[str, Any]:
        """How many entries are unread."""
        with transactions.scope(principal.tenant_id, principal.user_id):
            count = entries.unread(principal)
        return {"type": "unread", "count": min(count, entries.MOST), "more": count > entries.MOST}

    def change(self, principal: Principal, changed_id: uuid.UUID) -> dict[str, Any]:
        """The same, as it is now."""
        return self.ready(principal)
