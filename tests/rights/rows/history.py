"""History, the ledger, erasing, and who changed what."""

from tests.people import Cast
from tests.rights.action import EVERYBODY, NOBODY, OWNERS, READERS, Action
from tests.stack import Stack


def _bobs_call(stack: Stack, cast: Cast) -> dict[str, str]:
    run = stack.chat(cast.bob, 'call: save_note {"title": "a", "content": "b"}').json()
    return {"call": run["tool_calls"][0]["id"]}


ROWS = [
    Action(
        "Read the history of one's own calls; auditors and owners the tenant's",
        EVERYBODY,
        api=(
            "GET /api/v1/tool-calls/",
            "GET /api/v1/tool-calls/<id>/",
            "GET /api/v1/tool-calls/<id>/receipt/",
            "GET /api/v1/ledger/checkpoint",
            "GET /api/v1/ledger/keys",
        ),
        page=("GET /history/",),
    ),
    Action("Read what was erased", READERS, api=("GET /api/v1/erasures/",)),
    Action("Erase what is one's own", EVERYBODY, api=("POST /api/v1/erasures/",)),
    Action(
        "Erase what is another's",
        OWNERS,
        api=("POST /api/v1/erasures/",),
        body={"call": "<call>"},
        hidden_from=EVERYBODY - READERS,
        given=_bobs_call,
    ),
    Action(
        "Read who changed which setting",
        READERS,
        api=("GET /api/v1/changes/",),
        page=("GET /settings/changes/",),
    ),
    Action("Verify, export, keep and restore everything", NOBODY, command=("audit", "backup", "restore")),
]
