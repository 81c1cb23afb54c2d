"""`python -m bench.rig.people COUNT`: a tenant with that many members; prints {"tenant": id, "keys": [API key, …]}."""

import os
import sys

import orjson

TOOLS = ("save_note", "list_tasks", "web_search")
# More than any run makes: what is measured is the counting, not the refusal.
RATE = "1000000/m"


def make(count: int) -> dict[str, object]:
    """The tenant, with its default agent and raised rate limits."""
    import django

    django.setup()
    from django.db import transaction

    from gateway.runs.agents.queries import create_tenant
    from tenants.models import Membership, User
    from tenants.people import keys
    from tenants.scope.routing import on_login
    from tools.models import ToolSetting

    with on_login("operator"), transaction.atomic(using="operator"):
        tenant = create_tenant(slug="bench")
        for tool in TOOLS:
            ToolSetting.objects.create(tenant=tenant, tool_name=tool, rate=RATE)
        made = []
        for number in range(count):
            user = User(username=f"bench-{number}")
            user.set_unusable_password()
            user.save()
            made.append(keys.create(membership=Membership.objects.create(tenant=tenant, user=user, role="member"))[1])
    return {"tenant": str(tenant.id), "keys": made}


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway.config.settings")
    sys.stdout.buffer.write(orjson.dumps(make(int(sys.argv[1]))))
