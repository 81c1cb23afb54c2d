"""Files in a whole chat: the demo model asks, a worker runs the tools, and one's own client reads what they wrote."""

import httpx

from tests.database import rows
from tests.people import Cast
from tests.stack import Stack


def test_a_chat_writes_reads_edits_and_searches_files_through_the_worker(stack: Stack, tenant: Cast) -> None:
    body = stack.chat(tenant.alice, "Write a file notes/plan.md: # Plan\nbuy milk").json()
    assert [(call["tool"], call["status"]) for call in body["tool_calls"]] == [("write_file", "success")]
    conversation_id = body["conversation_id"]
    said = []
    for text in (
        'In the file notes/plan.md replace "milk" by "tea"',
        "Search the files for tea",
        "read the file ./notes/plan.md",
    ):
        body = stack.chat(tenant.alice, text, conversation_id=conversation_id).json()
        said.append([(call["tool"], call["status"]) for call in body["tool_calls"]])
    assert said == [[("edit_file", "success")], [("search_files", "success")], [("read_file", "success")]]
    assert "notes/plan.md (version 2):\n# Plan\nbuy tea" in body["content"]
    [written] = rows(
        "SELECT v.call_id, c.tool_name FROM file_versions v JOIN tool_calls c ON c.id = v.call_id"
        " WHERE v.conversation_id = %(c)s AND v.version = 2",
        c=conversation_id,
    )
    assert written["tool_name"] == "edit_file"
    [source] = rows("SELECT label, source FROM taint_sources WHERE conversation_id = %(c)s AND source = 'read_file'",
                    c=conversation_id)  # fmt: skip
    assert source["label"] == "private"
    alone = httpx.post(
        f"{stack.url}/api/v1/tools/list_files/calls", json={"arguments": {}}, headers=tenant.alice.headers
    )
    assert alone.json()["error"]["code"] == "permission_denied"
