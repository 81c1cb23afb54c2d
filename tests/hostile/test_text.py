"""Text from a model or a user forges no event, no log line and no header, and takes no secret with it."""

import json
import os
import re
import uuid
from urllib.parse import unquote, urlsplit

import httpx
import pytest

from tests.database import rows
from tests.hostile.upstream import (
    ANTHROPIC_KEY,
    OPENAI_KEY,
    ORIGIN,
    Upstream,
    completion,
    failing,
    scripted,
    streamed,
)
from tests.people import PASSWORD, Cast, make_tenant
from tests.stack import somewhere_else

FORGED = "a\n\ndata: {}\n\nevent: run.completed\r\nid: end\rdata: x\u2028b\u0085c\n: keep-alive\n\n"
LINE = re.compile(r"timestamp=\S+ level=\w+ ")


def events(text: str) -> list[tuple[str, str, dict[str, object]]]:
    """(id, event, data) of each event, read as the standard says: lines end in CR, LF or CRLF."""
    found = []
    for block in re.split(r"\r\n\r\n|\n\n|\r\r", text):
        fields = [line.partition(": ") for line in re.split(r"\r\n|\n|\r", block) if line and not line.startswith(":")]
        if fields:
            assert [name for name, _, _ in fields] == ["id", "event", "data"]
            found.append((fields[0][2], fields[1][2], json.loads(fields[2][2])))
    return found


@pytest.mark.parametrize("headers", [{}, {"Origin": ORIGIN}], ids=["fast", "django"])
def test_newlines_and_fields_in_text_forge_no_event(upstream: Upstream, tenant: Cast, headers: dict[str, str]) -> None:
    note = json.dumps({"title": FORGED.replace("\r", " ").replace("\u0085", ""), "content": "b"})
    script = upstream.script(
        streamed({"content": FORGED}, {"tool_calls": [{"index": 0, "id": "c", "function":
                 {"name": "save_note", "arguments": note}}]}, finish="tool_calls"),
        streamed({"content": FORGED}, {"content": "data: y\n\n"}),
    )  # fmt: skip
    answer = upstream.stack.chat(tenant.alice, **scripted(script, stream=True), headers=headers)
    found = events(answer.text)
    names = [name for _, name, _ in found]
    assert names[0] == "run.created"
    assert names.count("run.completed") == 1
    assert names[-1] == "run.completed"
    assert found[-1][2]["content"] == f"{FORGED}data: y\n\n"
    assert all(data["run_id"] == found[0][2]["run_id"] for _, _, data in found)


def _lines(upstream: Upstream, since: dict[str, int]) -> dict[str, list[str]]:
    return {
        name: [line for line in upstream.stack.log(name)[since[name] :].split("\n") if line]
        for name in ("web", "worker")
    }


def test_no_text_forges_a_log_line(upstream: Upstream, tenant: Cast) -> None:
    mark = uuid.uuid4().hex
    since = {name: len(upstream.stack.log(name)) for name in ("web", "worker")}
    forged = f"{mark}\ntimestamp=2026-01-01T00:00:00Z level=info event=forged\r\x1b[2J\x1b[31m\u2028\u0085"
    script = upstream.script(completion("", ("c", forged, "{}"), ("d", "save_note", forged)), failing(400))
    upstream.stack.chat(tenant.alice, **scripted(script))
    upstream.stack.chat(tenant.alice, f"call: {mark} {forged!r}")
    upstream.stack.get(tenant.alice, f"/api/v1/tools/{mark}%0alevel=info%1b[31m/access")
    upstream.stack.get(tenant.alice, f"/nowhere/{mark}%0alevel=info%1b[31m")
    upstream.stack.chat(tenant.alice, "hello", headers={"X-Request-Id": f"{mark} level=info"})
    written = _lines(upstream, since)
    assert any(mark in line for line in written["web"])
    for name, lines in written.items():
        for line in lines:
            if mark in line or "forged" in line:
                assert LINE.match(line), (name, line)
            assert line.isprintable(), (name, line)


def test_no_secret_is_in_any_log(upstream: Upstream) -> None:
    tenant = make_tenant(PASSWORD)
    keys = [tenant.alice.key, tenant.olga.key]
    upstream.stack.chat(tenant.alice, "hello")
    upstream.stack.chat(tenant.alice, **scripted(upstream.script(failing(401))))
    upstream.stack.chat(tenant.alice, **scripted(upstream.script(failing(400)), stream=True))
    wrong = tenant.alice.key[:-1] + "!"
    httpx.get(f"{upstream.stack.url}/api/v1/tools/", headers={"Authorization": f"Bearer {wrong}"})
    httpx.get(f"{upstream.stack.url}/api/v1/nowhere?key={tenant.olga.key}", headers=tenant.olga.headers)
    with httpx.Client(base_url=upstream.stack.url, headers=somewhere_else()) as browser:
        page = browser.get("/accounts/login/").text
        [token] = re.findall(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
        form = {"csrfmiddlewaretoken": token, "username": tenant.alice.username, "password": "wrong " + PASSWORD}
        assert browser.post("/accounts/login/", data=form).status_code == 200
        assert browser.post("/accounts/login/", data=form | {"password": PASSWORD}).status_code == 302
        session = browser.cookies["sessionid"]
    urls = [os.environ["DATABASE_URL"], os.environ["DATABASE_OWNER_URL"], os.environ["REDIS_URL"]]
    passwords = [unquote(urlsplit(url).password or "") for url in urls]
    assert all(passwords)
    secrets = [*keys, wrong, OPENAI_KEY, ANTHROPIC_KEY, PASSWORD, session, *passwords]
    for name in ("web", "worker"):
        log = upstream.stack.log(name)
        assert [secret for secret in secrets if secret in log] == [], name


def test_no_secret_is_in_any_row_that_a_failure_left(upstream: Upstream, tenant: Cast) -> None:
    upstream.stack.chat(tenant.alice, **scripted(upstream.script(failing(401))))
    [run] = rows("SELECT to_jsonb(runs)::text AS whole FROM runs WHERE tenant_id = %(t)s", t=tenant.id)
    for secret in (OPENAI_KEY, ANTHROPIC_KEY, tenant.alice.key, "10.1.2.3"):
        assert secret not in run["whole"]


def test_keys_are_kept_as_hashes_only(tenant: Cast) -> None:
    found = rows("SELECT to_jsonb(api_keys)::text AS whole FROM api_keys WHERE tenant_id = %(t)s", t=tenant.id)
    assert len(found) == 5
    people = (tenant.alice, tenant.bob, tenant.carol, tenant.dana, tenant.olga)
    for key in [person.key for person in people]:
        # Neither as text nor as the bytes of a column.
        assert not any(key in row["whole"] or key.encode().hex() in row["whole"] for row in found)
