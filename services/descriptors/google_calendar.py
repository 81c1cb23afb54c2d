"""Google Calendar's events, over its API (v3)."""

from services.descriptors.entry import READS, SENDS, Entry, Schema, number, text, tool

_CALENDAR = {"calendarId": text("A calendar's id; primary for the one of whoever the credential belongs to.")}
_EVENT = _CALENDAR | {"eventId": text("The event's id.")}
_WHEN: Schema = {
    "type": "object",
    "description": "dateTime with an offset, or date alone for a whole day.",
    "properties": {
        "dateTime": text("Such as 2026-03-01T10:00:00+01:00."),
        "date": text("Such as 2026-03-01."),
        "timeZone": text("Such as Europe/Berlin."),
    },
    "additionalProperties": False,
}
_ABOUT: dict[str, Schema] = {
    "summary": text("The title."),
    "description": text("What it is about."),
    "location": text("Where it is."),
    "attendees": {
        "type": "array",
        "description": "Who is invited.",
        "items": {"type": "object", "properties": {"email": text("An address.")}, "required": ["email"]},
        "maxItems": 200,
    },
}
_NOTIFIED = {"sendUpdates": text("Who gets a mail; nobody by default.", enum=["all", "externalOnly", "none"])}

ENTRY = Entry(
    name="google_calendar",
    title="Google Calendar",
    about="Events of Google calendars: find, make, change and cancel them.",
    url="https://www.googleapis.com/calendar/v3",
    help="An OAuth access token with the scope https://www.googleapis.com/auth/calendar.events. It expires within an"
    " hour: for lasting use add it with OAuth.",
    oauth={
        "issuer": "https://accounts.google.com",
        # Without these two there is no refresh token when somebody connects once more.
        "authorization_endpoint": "https://accounts.google.com/o/oauth2/v2/auth?access_type=offline&prompt=consent",
        "token_endpoint": "https://oauth2.googleapis.com/token",
        "revocation_endpoint": "https://oauth2.googleapis.com/revoke",
        "scopes": [
            "https://www.googleapis.com/auth/calendar.events",
            "https://www.googleapis.com/auth/calendar.calendarlist.readonly",
        ],
    },
    tools=(
        tool("list_calendars", "The calendars, with their ids.", "GET /users/me/calendarList", READS),
        tool(
            "list_events",
            "The events of a calendar in a span of time.",
            "GET /calendars/{calendarId}/events",
            READS,
            _CALENDAR,
            {
                "timeMin": text("Events that end after this, such as 2026-03-01T00:00:00Z."),
                "timeMax": text("Events that begin before this."),
                "q": text("Words in them."),
                "singleEvents": {"type": "boolean", "description": "Each repetition as an event of its own."},
                "orderBy": text("startTime needs singleEvents.", enum=["startTime", "updated"]),
                "maxResults": number("How many; 250 by default.", 1, 2500),
                "pageToken": text("nextPageToken of the page before."),
            },
        ),
        tool("get_event", "One event.", "GET /calendars/{calendarId}/events/{eventId}", READS, _EVENT),
        tool(
            "create_event",
            "Make an event. Attendees are invited.",
            "POST /calendars/{calendarId}/events",
            SENDS,
            _CALENDAR | {"start": _WHEN, "end": _WHEN},
            _ABOUT | _NOTIFIED,
            ["sendUpdates"],
        ),
        tool(
            "update_event",
            "Change an event: what is given replaces what it has.",
            "PATCH /calendars/{calendarId}/events/{eventId}",
            SENDS,
            _EVENT,
            _ABOUT | _NOTIFIED | {"start": _WHEN, "end": _WHEN},
            ["sendUpdates"],
        ),
        tool(
            "delete_event",
            "Cancel an event.",
            "DELETE /calendars/{calendarId}/events/{eventId}",
            SENDS,
            _EVENT,
            _NOTIFIED,
        ),
    ),
)
