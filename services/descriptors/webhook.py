"""A generic webhook: calls of hosts that the owner lists, and of no other."""

from services.descriptors.entry import SENDS, Entry, text, tool

ENTRY = Entry(
    name="webhook",
    title="Webhook",
    about="Calls hosts that you list, such as the webhooks of your own programs, and no other host.",
    credential="none",
    help="Whatever the first host of the list expects; no other host is sent it.",
    hosts=True,
    tools=(
        tool(
            "external_api_call",
            "Call one of the listed hosts, and get its answer.",
            "POST /",
            SENDS | {"labels": {"reads_private": True, "reads_untrusted": True, "leaves_tenant": True}},
            {"host": text("Which host."), "path": text("The path, such as /hooks/build.")},
            {
                "method": text("POST by default.", enum=["GET", "POST", "PUT", "PATCH", "DELETE"]),
                "query": {"type": "object", "description": "What follows the ? in the address, by name."},
                "body": {"description": "Any JSON value, sent as JSON; not with GET."},
            },
        ),
    ),
)
