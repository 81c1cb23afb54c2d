"""Notion's pages with their blocks, and databases, over its API (version 2022-06-28)."""

from services.descriptors.entry import CHANGES, READS, Entry, Schema, number, text, tool

_PAGE = {
    "page_size": number("How many; 100 by default.", 1, 100),
    "start_cursor": text("next_cursor of the page before."),
}
_PARENT: Schema = {
    "type": "object",
    "description": "Where it is put: below a page, or into a database.",
    "properties": {"page_id": text("The id of a page."), "database_id": text("The id of a database.")},
    "additionalProperties": False,
    "minProperties": 1,
    "maxProperties": 1,
}
_PROPERTIES: Schema = {
    "type": "object",
    "description": 'Values by name. Below a page only title: {"title": [{"text": {"content": "…"}}]}',
}
_BLOCKS: Schema = {
    "type": "array",
    "description": 'Such as {"object": "block", "type": "paragraph", "paragraph": {"rich_text": [{"type": "text", '
    '"text": {"content": "…"}}]}}.',
    "items": {"type": "object"},
    "maxItems": 100,
}
_FILTER: Schema = {
    "type": "object",
    "description": 'Such as {"property": "Status", "select": {"equals": "Open"}}, or several below "and" or "or".',
}
_SORTS: Schema = {
    "type": "array",
    "description": 'Such as {"property": "Due", "direction": "ascending"}.',
    "items": {"type": "object"},
    "maxItems": 10,
}

ENTRY = Entry(
    name="notion",
    title="Notion pages",
    about="Pages and databases of a Notion workspace: find and read them, make and extend pages.",
    url="https://api.notion.com",
    help="The secret of an internal integration. Pages have to be shared with the integration before it sees them.",
    headers={"Notion-Version": "2022-06-28"},
    tools=(
        tool(
            "search",
            "Find pages and databases by words in their titles, among those that are shared with the integration.",
            "POST /v1/search",
            READS,
            may=_PAGE
            | {
                "query": text("Words of the title; without it, everything."),
                "filter": {
                    "type": "object",
                    "properties": {"property": {"const": "object"}, "value": {"enum": ["page", "database"]}},
                    "required": ["property", "value"],
                    "description": "Only pages, or only databases.",
                },
            },
        ),
        tool(
            "get_page",
            "A page's properties; what it says is in its blocks.",
            "GET /v1/pages/{page_id}",
            READS,
            {"page_id": text("The page's id.")},
        ),
        tool(
            "get_blocks",
            "What a page or block says: the blocks directly in it, in order.",
            "GET /v1/blocks/{block_id}/children",
            READS,
            {"block_id": text("The id of a block, or of a page.")},
            _PAGE,
        ),
        tool(
            "get_database",
            "The properties that the pages of a database have, with their types and choices.",
            "GET /v1/databases/{database_id}",
            READS,
            {"database_id": text("The database's id.")},
        ),
        tool(
            "query_database",
            "The pages of a database, by what their properties say.",
            "POST /v1/databases/{database_id}/query",
            READS,
            {"database_id": text("The database's id.")},
            _PAGE | {"filter": _FILTER, "sorts": _SORTS},
        ),
        tool(
            "create_page",
            "Make a page, with what it says.",
            "POST /v1/pages",
            CHANGES,
            {"parent": _PARENT, "properties": _PROPERTIES},
            {"children": _BLOCKS},
        ),
        tool(
            "update_page",
            "Change a page's properties, or move it to the trash.",
            "PATCH /v1/pages/{page_id}",
            CHANGES,
            {"page_id": text("The page's id.")},
            {"properties": _PROPERTIES, "archived": {"type": "boolean", "description": "true: to the trash."}},
        ),
        tool(
            "append_blocks",
            "Add blocks at the end of a page or block.",
            "PATCH /v1/blocks/{block_id}/children",
            CHANGES,
            {"block_id": text("The id of a block, or of a page."), "children": _BLOCKS},
        ),
    ),
)
