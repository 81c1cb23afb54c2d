"""Why a change of what a tenant says about tools is refused, as one tree. Nothing has changed then.

Refused                     the answer's HTTP status, code and words
├── NoSuchTool              404 not_found
├── InvalidToolSetting      400 invalid_tool_setting
├── NoSuchGrant             404 not_found
└── InvalidGrant            400 invalid_grant
"""

from tenants.errors import Refused


class NoSuchTool(Refused):
    """The tenant has no such tool."""

    status = 404
    code = "not_found"

    def __init__(self, name: str):
        super().__init__(f"There is no tool {name[:100]!a} in this tenant.", "tool")


class InvalidToolSetting(Refused):
    """What was sent cannot be said of the tool."""

    code = "invalid_tool_setting"


class NoSuchGrant(Refused):
    """The tenant has no such grant."""

    status = 404
    code = "not_found"

    def __init__(self) -> None:
        super().__init__("There is no such grant.")


class InvalidGrant(Refused):
    """What was sent makes no grant."""

    code = "invalid_grant"
