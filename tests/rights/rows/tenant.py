"""The tenant as a whole, and the installation."""

from tests.rights.action import EVERYBODY, NOBODY, OWNERS, Action

ROWS = [
    Action("Read what the tenant keeps, and asks of sessions", EVERYBODY, api=("GET /api/v1/tenant/",)),
    Action("Say what the tenant keeps, and asks of sessions", OWNERS, asks=("tenant",), api=("PATCH /api/v1/tenant/",)),
    Action(
        "Say on a page what the tenant keeps", OWNERS, page=("GET /settings/retention/", "POST /settings/retention/")
    ),
    Action("Make tenants and operators", NOBODY, command=("create_tenant", "create_operator", "seed_demo")),
    Action(
        "Make keys and members in any tenant", NOBODY, command=("create_api_key", "create_member", "create_invitation")
    ),
    Action(
        "List and end keys, members and invitations of any tenant",
        NOBODY,
        command=(
            *("list_members", "remove_member", "list_invitations", "revoke_invitation"),
            *("list_api_keys", "revoke_api_key"),
        ),
    ),
    Action("Register OAuth clients for everybody", NOBODY, command=("create_oauth_client",)),
    Action("Run the installation", NOBODY, command=("up", "migrate", "setup_database", "rotate_encryption_key")),
]
