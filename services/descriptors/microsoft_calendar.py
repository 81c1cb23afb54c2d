"""The calendar of Microsoft 365, over Microsoft Graph (v1.0)."""

from services.descriptors.entry import READS, SENDS, Entry, Schema, number, text, tool

_EVENT = {"event_id": text("The event's id.")}
_WHEN: Schema = {
    "type": "object",
    "properties": {
        "dateTime": text("Without an offset, such as 2026-03-01T10:00:00."),
        "timeZone": text("Such as UTC, or Europe/Berlin."),
    },
    "required": ["dateTime", "timeZone"],
    "additionalProperties": False,
}
_ATTENDEE: Schema = {
    "type": "object",
    "properties": {
        "emailAddress": {
            "type": "object",
            "properties": {"address": text("An address."), "name": text("A name.")},
            "required": ["address"],
        },
        "type": text("Whether they have to come.", enum=["required", "optional", "resource"]),
    },
    "required": ["emailAddress"],
}
_ABOUT: dict[str, Schema] = {
    "subject": text("The title."),
    "body": {
        "type": "object",
        "properties": {"contentType": text("Of the content.", enum=["text", "html"]), "content": text("The words.")},
        "required": ["contentType", "content"],
    },
    "location": {"type": "object", "properties": {"displayName": text("Where it is.")}},
    "attendees": {"type": "array", "items": _ATTENDEE, "description": "Who is invited.", "maxItems": 200},
    "isAllDay": {"type": "boolean"},
}

ENTRY = Entry(
    name="microsoft_calendar",
    title="Microsoft calendar",
    about="Events of the calendar of Microsoft 365: find, make, change and cancel them.",
    url="https://graph.microsoft.com/v1.0",
    help="An OAuth access token for Microsoft Graph with Calendars.ReadWrite. It expires within about an hour: for"
    " lasting use add it with OAuth.",
    headers={"Prefer": 'outlook.timezone="UTC"'},
    # Of accounts of any organization, and personal ones. There is nowhere to revoke a token.
    oauth={
        "authorization_endpoint": "https://login.microsoftonline.com/common/oauth2/v2.0/authorize",
        "token_endpoint": "https://login.microsoftonline.com/common/oauth2/v2.0/token",
        "scopes": ["offline_access", "https://graph.microsoft.com/Calendars.ReadWrite"],
    },
    tools=(
        tool("list_calendars", "The calendars, with their ids.", "GET /me/calendars", READS),
        tool(
            "list_events",
            "The events in a span of time, each repetition as an event of its own. Times are in UTC.",
            "GET /me/calendarView",
            READS,
            {
                "startDateTime": text("Such as 2026-03-01T00:00:00Z."),
                "endDateTime": text("Such as 2026-03-08T00:00:00Z."),
            },
            {
                "top": number("How many; 10 by default.", 1, 1000),
                "skip": number("How many to leave out at the beginning.", 0, 100_000),
                "order_by": text("Such as start/dateTime."),
            },
            {
                "startDateTime": "startDateTime", "endDateTime": "endDateTime", "top": "$top", "skip": "$skip",
                "order_by": "$orderby",
            },
        ),
        tool("get_event", "One event.", "GET /me/events/{event_id}", READS, _EVENT),
        tool(
            "create_event",
            "Make an event. Attendees get an invitation.",
            "POST /me/events",
            SENDS,
            {"subject": _ABOUT["subject"], "start": _WHEN, "end": _WHEN},
            {name: schema for name, schema in _ABOUT.items() if name != "subject"},
        ),
        tool(
            "update_event",
            "Change an event: what is given replaces what it has. Attendees get word of it.",
            "PATCH /me/events/{event_id}",
            SENDS,
            _EVENT,
            _ABOUT | {"start": _WHEN, "end": _WHEN},
        ),
        tool(
            "delete_event",
            "Delete an event; of one's own meeting the attendees are told that it is cancelled.",
            "DELETE /me/events/{event_id}",
            SENDS,
            _EVENT,
        ),
    ),
)  # fmt: skip
