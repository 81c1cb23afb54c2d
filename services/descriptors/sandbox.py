"""A sandbox of the owner's: an MCP server with tools for a shell, code and files."""

from services.descriptors.entry import SENDS, Entry

ENTRY = Entry(
    name="sandbox",
    title="Sandbox",
    about="An MCP server of yours that runs commands and code, and keeps files, apart from everything else.",
    kind="mcp",
    help="The token that the sandbox expects.",
    # Whatever it offers: a command can do anything that its sandbox lets it.
    any_tool=SENDS | {"labels": {"reads_private": True, "reads_untrusted": True, "leaves_tenant": True}},
)
