"""What the APIs of the catalogue document: for each tool a call, and the request that it makes."""

from typing import Any

WHEN = {"dateTime": "2026-03-01T10:00:00", "timeZone": "UTC"}
BLOCK = {
    "object": "block",
    "type": "paragraph",
    "paragraph": {"rich_text": [{"type": "text", "text": {"content": "a"}}]},
}
TITLE = {"title": [{"text": {"content": "Minutes"}}]}
ISSUE = {"owner": "octo", "repo": "app", "issue_number": 7}

# By entry: tool, arguments, and the request that the API documents for it: method, path, query, body.
CALLS: dict[str, list[tuple[str, dict[str, Any], str, str, dict[str, str], Any]]] = {
    "github": [
        (
            "search_issues",
            {"q": "repo:octo/app is:open", "per_page": 5},
            "GET",
            "/search/issues",
            {"q": "repo:octo/app is:open", "per_page": "5"},
            None,
        ),
        (
            "list_issues",
            {"owner": "octo", "repo": "app", "state": "all"},
            "GET",
            "/repos/octo/app/issues",
            {"state": "all"},
            None,
        ),
        ("get_issue", ISSUE, "GET", "/repos/octo/app/issues/7", {}, None),
        ("list_comments", ISSUE, "GET", "/repos/octo/app/issues/7/comments", {}, None),
        (
            "create_issue",
            {"owner": "octo", "repo": "app", "title": "Crash", "labels": ["bug"]},
            "POST",
            "/repos/octo/app/issues",
            {},
            {"title": "Crash", "labels": ["bug"]},
        ),
        (
            "update_issue",
            ISSUE | {"state": "closed", "state_reason": "completed"},
            "PATCH",
            "/repos/octo/app/issues/7",
            {},
            {"state": "closed", "state_reason": "completed"},
        ),
        ("add_comment", ISSUE | {"body": "Fixed"}, "POST", "/repos/octo/app/issues/7/comments", {}, {"body": "Fixed"}),
    ],
    "slack": [
        (
            "list_channels",
            {"types": "public_channel", "exclude_archived": True},
            "GET",
            "/conversations.list",
            {"types": "public_channel", "exclude_archived": "true"},
            None,
        ),
        (
            "read_messages",
            {"channel": "C1", "limit": 3},
            "GET",
            "/conversations.history",
            {"channel": "C1", "limit": "3"},
            None,
        ),
        (
            "read_thread",
            {"channel": "C1", "ts": "1.2"},
            "GET",
            "/conversations.replies",
            {"channel": "C1", "ts": "1.2"},
            None,
        ),
        ("get_user", {"user": "U1"}, "GET", "/users.info", {"user": "U1"}, None),
        (
            "post_message",
            {"channel": "C1", "text": "Hi", "thread_ts": "1.2"},
            "POST",
            "/chat.postMessage",
            {},
            {"channel": "C1", "text": "Hi", "thread_ts": "1.2"},
        ),
        (
            "add_reaction",
            {"channel": "C1", "timestamp": "1.2", "name": "thumbsup"},
            "POST",
            "/reactions.add",
            {},
            {"channel": "C1", "timestamp": "1.2", "name": "thumbsup"},
        ),
        (
            "remove_reaction",
            {"channel": "C1", "timestamp": "1.2", "name": "thumbsup"},
            "POST",
            "/reactions.remove",
            {},
            {"channel": "C1", "timestamp": "1.2", "name": "thumbsup"},
        ),
    ],
    "notion": [
        (
            "search",
            {"query": "Minutes", "filter": {"property": "object", "value": "page"}},
            "POST",
            "/v1/search",
            {},
            {"query": "Minutes", "filter": {"property": "object", "value": "page"}},
        ),
        ("get_page", {"page_id": "59833787-2cf9"}, "GET", "/v1/pages/59833787-2cf9", {}, None),
        ("get_blocks", {"block_id": "b1", "page_size": 50}, "GET", "/v1/blocks/b1/children", {"page_size": "50"}, None),
        (
            "create_page",
            {"parent": {"page_id": "p1"}, "properties": TITLE, "children": [BLOCK]},
            "POST",
            "/v1/pages",
            {},
            {"parent": {"page_id": "p1"}, "properties": TITLE, "children": [BLOCK]},
        ),
        ("update_page", {"page_id": "p1", "archived": True}, "PATCH", "/v1/pages/p1", {}, {"archived": True}),
        (
            "append_blocks",
            {"block_id": "b1", "children": [BLOCK]},
            "PATCH",
            "/v1/blocks/b1/children",
            {},
            {"children": [BLOCK]},
        ),
    ],
    "google_calendar": [
        ("list_calendars", {}, "GET", "/users/me/calendarList", {}, None),
        (
            "list_events",
            {
                "calendarId": "team@example.com",
                "timeMin": "2026-03-01T00:00:00Z",
                "singleEvents": True,
                "orderBy": "startTime",
            },
            "GET",
            "/calendars/team%40example.com/events",
            {"timeMin": "2026-03-01T00:00:00Z", "singleEvents": "true", "orderBy": "startTime"},
            None,
        ),
        ("get_event", {"calendarId": "primary", "eventId": "e1"}, "GET", "/calendars/primary/events/e1", {}, None),
        (
            "create_event",
            {
                "calendarId": "primary",
                "start": WHEN,
                "end": WHEN,
                "summary": "Call",
                "attendees": [{"email": "bob@example.com"}],
                "sendUpdates": "all",
            },
            "POST",
            "/calendars/primary/events",
            {"sendUpdates": "all"},
            {"start": WHEN, "end": WHEN, "summary": "Call", "attendees": [{"email": "bob@example.com"}]},
        ),
        (
            "update_event",
            {"calendarId": "primary", "eventId": "e1", "summary": "Later"},
            "PATCH",
            "/calendars/primary/events/e1",
            {},
            {"summary": "Later"},
        ),
        (
            "delete_event",
            {"calendarId": "primary", "eventId": "e1", "sendUpdates": "none"},
            "DELETE",
            "/calendars/primary/events/e1",
            {"sendUpdates": "none"},
            None,
        ),
    ],
    "microsoft_calendar": [
        ("list_calendars", {}, "GET", "/me/calendars", {}, None),
        (
            "list_events",
            {
                "startDateTime": "2026-03-01T00:00:00Z",
                "endDateTime": "2026-03-08T00:00:00Z",
                "top": 5,
                "order_by": "start/dateTime",
            },
            "GET",
            "/me/calendarView",
            {
                "startDateTime": "2026-03-01T00:00:00Z",
                "endDateTime": "2026-03-08T00:00:00Z",
                "$top": "5",
                "$orderby": "start/dateTime",
            },
            None,
        ),
        ("get_event", {"event_id": "AAMk/AGI="}, "GET", "/me/events/AAMk%2FAGI%3D", {}, None),
        (
            "create_event",
            {
                "subject": "Call",
                "start": WHEN,
                "end": WHEN,
                "attendees": [{"emailAddress": {"address": "bob@example.com"}, "type": "required"}],
            },
            "POST",
            "/me/events",
            {},
            {
                "subject": "Call",
                "start": WHEN,
                "end": WHEN,
                "attendees": [{"emailAddress": {"address": "bob@example.com"}, "type": "required"}],
            },
        ),
        ("update_event", {"event_id": "e1", "isAllDay": True}, "PATCH", "/me/events/e1", {}, {"isAllDay": True}),
        ("delete_event", {"event_id": "e1"}, "DELETE", "/me/events/e1", {}, None),
    ],
}
HEADERS = {
    "github": {"accept": "application/vnd.github+json", "x-github-api-version": "2022-11-28"},
    "notion": {"notion-version": "2022-06-28"},
    "microsoft_calendar": {"prefer": 'outlook.timezone="UTC"'},
}
