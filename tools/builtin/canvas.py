"""canvas: a page that is drawn beside the conversation."""

from typing import Any, ClassVar

from tools.errors import ToolPermissionDenied
from tools.interface import Artifact, Tier, Tool, ToolContext, ToolResult
from tools.labels import Label

_SHOWN = 80


class Canvas(Tool):
    """Draw a page beside the conversation; each call is a new version of it."""

    name = "canvas"
    description = (
        "Show the user a page of HTML, CSS and JavaScript beside the conversation, such as a chart, a table, a form "
        "that calculates or a small game. Each call replaces what is shown, as a new version: send the whole page. "
        "It runs by itself: it loads nothing, so draw with inline SVG, canvas and data: images, and use no library."
    )
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "title": {"type": "string", "description": "What the page is called.", "minLength": 1, "maxLength": 200},
            "html": {
                "type": "string",
                "description": "The page's HTML: what its body has, or a whole document.",
                "maxLength": 200_000,
            },
            "css": {"type": "string", "description": "The page's CSS, if any.", "maxLength": 100_000},
            "js": {
                "type": "string",
                "description": "The page's JavaScript, if any; it runs when the HTML is there.",
                "maxLength": 200_000,
            },
        },
        "required": ["title", "html"],
        "additionalProperties": False,
    }
    tier = Tier.WORKSPACE
    # What it draws is run by the user's browser, and not every browser keeps a script from every connection.
    labels = frozenset({Label.LEAVES_TENANT})
    handles = frozenset({"canvas"})
    rate = "30/m"
    transactional = True

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        """Output: `{"canvas_id": uuid, "title", "version": number}`.

        Raises ToolPermissionDenied for a call without a conversation.
        """
        if ctx.canvas is None:
            raise ToolPermissionDenied(
                "A canvas is shown beside a conversation, and this call was made without one. Ask for it in a chat."
            )
        title = params["title"]
        drawn = await ctx.canvas.draw(
            title=title, html=params["html"], css=params.get("css", ""), js=params.get("js", "")
        )
        shown = " ".join(title.split())
        shown = shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "…"
        return ToolResult(
            {"canvas_id": str(drawn.id), "title": title, "version": drawn.version},
            f"Drew “{shown}”, version {drawn.version}",
            (Artifact("canvas", str(drawn.id), "created"),),
        )
