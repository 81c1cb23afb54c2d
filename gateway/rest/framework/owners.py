"""Views of what owners do, which wait for a network between their transactions."""

from collections.abc import Callable
from typing import Any, TypeVar

from asgiref.sync import sync_to_async
from django.db import connections
from rest_framework.parsers import JSONParser
from rest_framework.request import Request

from gateway.rest.framework import body
from gateway.rest.framework.asynchronous import AsyncView
from tenants.login import reauthentication
from tenants.login.views import if_match
from tenants.people.changes import acting, based_on
from tenants.scope import transactions

Found = TypeVar("Found")


class AsyncOwnersView(AsyncView):
    """Owners only. Each `within` is one transaction in the caller's tenant, in a thread."""

    scope = "admin"
    # See `tenants.login.views.WithinTenant`.
    etagged = False
    parser_classes = [JSONParser]

    async def within(self, work: Callable[[], Found]) -> Found:
        """What `work` returns, with the ORM in the caller's scope."""

        def scoped() -> Found:
            try:
                me = self.principal
                confirmed = reauthentication.is_confirmed(self.request, me)
                with (
                    transactions.scope(me.tenant_id, me.user_id),
                    acting(me.user_id, "api", confirmed=confirmed),
                    based_on(if_match(self.request) if self.etagged else None),
                ):
                    return work()
            finally:
                connections["default"].close()

        return await sync_to_async(scoped)()

    async def given(self, request: Request) -> dict[str, Any]:
        """The object in the body."""
        return await sync_to_async(body.json_object)(request)
