"""A browser without a window: Django's own client, in this process."""

import asyncio
import re
from typing import Any

from asgiref.sync import sync_to_async
from django.db import connections
from django.test import Client

from tests.browser.sessions import session_of
from tests.people import PASSWORD, Person


class InProcess(Client):
    """Has each request answered in a thread beside an event loop, as a server does.

    A view that waits for something asynchronous would else do so on a loop of its own, which ends with its pools open.
    """

    def request(self, **request: Any) -> Any:
        """The response."""
        return asyncio.run(self._answered(request))

    async def _answered(self, request: dict[str, Any]) -> Any:
        from tenants.scope import transactions
        from tools.network import clients, redis

        def answer() -> Any:
            try:
                return super(InProcess, self).request(**request)
            finally:
                connections.close_all()

        try:
            return await sync_to_async(answer, thread_sensitive=False)()
        finally:
            await clients.close()
            await redis.close()
            await transactions.close_pools()


def signed_in(person: Person, *, seconds_ago: int = 0) -> InProcess:
    """A browser with the person's session, who logged in so long ago."""
    client = InProcess()
    client.cookies["sessionid"] = session_of(person, seconds_ago=seconds_ago)
    return client


def confirmed(client: Client, asked: Any, path: str, **given: str) -> Any:
    """What a page answers once the password, or what is given, has answered the form that it asked with."""
    [held] = re.findall(r'name="reauthentication_form" value="([^"]+)"', asked.content.decode())
    given = given or {"reauthentication_password": PASSWORD}
    return client.post(path, {"reauthentication_form": held, **given})
