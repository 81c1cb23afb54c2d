"""The kill switches that are on, as a tenant's people see them: its own and the operator's that stop it."""

from django.db import connections, router

from tenants.models import KillSwitch
from tenants.scope import jsonb
from tenants.switches.on import Switch


def on_now() -> list[Switch]:
    """Those of the tenant that the transaction is restricted to, the oldest first."""
    with connections[router.db_for_read(KillSwitch)].cursor() as cursor:
        cursor.execute("SELECT switches_on()")
        [found] = cursor.fetchone()
    return [Switch.of(each) for each in (jsonb.loads(found) if isinstance(found, str | bytes) else found) or ()]
