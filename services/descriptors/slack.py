"""Slack's messages, threads and reactions, over its Web API, which answers its errors with 200 and `ok: false`."""

from services.descriptors.entry import READS, SENDS, Entry, number, text, tool

_CHANNEL = {"channel": text("The channel's id, such as C0123456789.")}
_PAGE = {
    "limit": number("How many; 100 by default.", 1, 999),
    "cursor": text("response_metadata.next_cursor of the page before."),
}
_SPAN = {
    "oldest": text("Only messages after this moment, a ts such as 1700000000.000000."),
    "latest": text("Only messages before this moment."),
}
_REACTION = _CHANNEL | {
    "timestamp": text("The ts of the message."),
    "name": text("The name of the emoji, such as thumbsup."),
}

ENTRY = Entry(
    name="slack",
    title="Slack messages",
    about="Messages of Slack channels: read them and their threads, post, reply and react.",
    url="https://slack.com/api",
    help="The bot token (xoxb-…) of a Slack app with the scopes channels:read, channels:history, users:read,"
    " chat:write, reactions:write. The app has to be a member of the channels that it reads.",
    success="ok",
    tools=(
        tool(
            "list_channels",
            "The channels that the app can see, with their ids.",
            "GET /conversations.list",
            READS,
            may=_PAGE
            | {
                "types": text("Kinds, separated by commas: public_channel, private_channel, mpim, im."),
                "exclude_archived": {"type": "boolean", "description": "Leave archived channels out."},
            },
        ),
        tool(
            "read_messages",
            "The messages of a channel, newest first; replies in threads are read with read_thread.",
            "GET /conversations.history",
            READS,
            _CHANNEL,
            _PAGE | _SPAN,
        ),
        tool(
            "read_thread",
            "A message and the replies to it.",
            "GET /conversations.replies",
            READS,
            _CHANNEL | {"ts": text("The ts of the message that the thread is about.")},
            _PAGE | _SPAN,
        ),
        tool("list_users", "The people of the workspace, with their ids.", "GET /users.list", READS, may=_PAGE),
        tool("get_user", "Who a user id is.", "GET /users.info", READS, {"user": text("The id, such as U0123456789.")}),
        tool(
            "post_message",
            "Post a message to a channel, or reply in a thread.",
            "POST /chat.postMessage",
            SENDS,
            _CHANNEL
            | {"text": text("In Slack's own mark-up: *bold*, _italic_, <https://…|a link>.", maxLength=40_000)},
            {
                "thread_ts": text("The ts of the message to reply to; without it, a new message."),
                "reply_broadcast": {"type": "boolean", "description": "Show a reply in the channel, too."},
            },
        ),
        tool(
            "update_message",
            "Change the text of a message that the app has posted.",
            "POST /chat.update",
            SENDS,
            _CHANNEL | {"ts": text("The ts of the message."), "text": text("All of its new text.", maxLength=40_000)},
        ),
        tool("add_reaction", "React to a message with an emoji.", "POST /reactions.add", SENDS, _REACTION),
        tool("remove_reaction", "Take the app's own reaction back.", "POST /reactions.remove", SENDS, _REACTION),
    ),
)
