"""A TypeScript client that openapi-typescript makes of our document, with openapi-fetch."""

import json
import os
import subprocess
from pathlib import Path

from tests.people import Cast
from tests.stack import Stack
from tests.waiting import PATIENCE_SECONDS


def test_a_generated_typescript_client_chats_streams_and_approves(
    stack: Stack, tenant: Cast, typescript_client: Path
) -> None:
    people = {"ALICE_KEY": tenant.alice.key, "CAROL_KEY": tenant.carol.key, "TOOLGATE_URL": stack.url}
    ran = subprocess.run(
        ["node", str(typescript_client)],
        env=os.environ | people,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    print(ran.stdout)
    seen = {line["step"]: line["seen"] for line in map(json.loads, ran.stdout.splitlines())}
    names = seen.pop("stream")["names"]
    assert names[0] == "run.created" and names[-1] == "run.completed"
    assert {"message.delta", "tool_call.proposed", "tool_call.running", "tool_call.settled"} <= set(names)
    assert seen == {
        "chat": {"status": "completed", "calls": [["save_note", "success"]]},
        "problem": {"status": 404, "code": "unknown_agent"},
        "settled": ["list_tasks", True],
        "usage": [2, True],
        "waiting": ["send_email", "pending", True],
        "approved": ["approved", ["approve"]],
        "again": [409, "already_decided"],
        "ended": [["send_email", "success"]],
    }
