"""What a tenant's owners say of the tenant as a whole; within its scope."""

import uuid
from typing import Any

from tenants.models import Tenant
from tenants.people import recorded
from tenants.people.changes import record

# A century.
LONGEST_DAYS = 36_500


def change(tenant_id: uuid.UUID, **values: Any) -> Tenant:
    """Change `retention_days`, `second_factor_required`, `fetch_hosts` or `taint`, on record; the tenant as it is by
    then."""
    found = Tenant.objects.filter(id=tenant_id)
    if values:
        before = recorded.TENANT.of(found.select_for_update(no_key=True).get())
        found.update(**values)
        record(before, recorded.TENANT.of(found.get()))
    return found.get()
