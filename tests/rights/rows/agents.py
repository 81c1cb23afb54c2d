"""Agents, and what a tenant says about tools."""

from tests.rights.action import NOBODY, OWNERS, Action

ROWS = [
    Action(
        "Read, make, change and archive agents",
        OWNERS,
        asks=("agent",),
        api=(
            "GET /api/v1/agents/",
            "POST /api/v1/agents/",
            "GET /api/v1/agents/<slug>/",
            "PATCH /api/v1/agents/<slug>/",
            "DELETE /api/v1/agents/<slug>/",
            "GET /api/v1/agents/<slug>/versions/",
            "POST /api/v1/agents/<slug>/versions/<number>/restore/",
            "POST /api/v1/agents/<slug>/test/",
        ),
        page=(
            "GET /settings/agents/",
            "GET /settings/agents/-/new/",
            "POST /settings/agents/-/new/",
            "GET /settings/agents/<slug>/",
            "POST /settings/agents/<slug>/",
            "GET /settings/agents/<slug>/versions/",
            "POST /settings/agents/<slug>/versions/<number>/",
            "POST /settings/agents/<slug>/archive/",
        ),
    ),
    Action(
        "Read and change what is said of tools",
        OWNERS,
        asks=("tool_setting",),
        api=(
            "GET /api/v1/tool-settings/",
            "GET /api/v1/tool-settings/<name>/",
            "PUT /api/v1/tool-settings/<name>/",
            "PATCH /api/v1/tool-settings/<name>/",
            "DELETE /api/v1/tool-settings/<name>/",
        ),
        page=(
            "GET /settings/tools/",
            "GET /settings/tools/-/",
            "GET /settings/tools/-/<slug>/",
            "GET /settings/tools/<name>/",
            "POST /settings/tools/<name>/",
            "POST /settings/tools/web_fetch/hosts/",
        ),
    ),
    Action(
        "Give grants and take them away",
        OWNERS,
        asks=("grant",),
        api=(
            "GET /api/v1/grants/",
            "POST /api/v1/grants/",
            "GET /api/v1/grants/<id>/",
            "DELETE /api/v1/grants/<id>/",
        ),
        page=("POST /settings/tools/<name>/grants/", "POST /settings/tools/<name>/grants/<id>/"),
    ),
    Action("Change agents of any tenant", NOBODY, command=("create_agent", "list_agents", "archive_agent")),
    Action("Change what is said of tools in any tenant", NOBODY, command=("set_tool", "list_tools", "grant_tool")),
]
