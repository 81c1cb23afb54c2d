"""Pictures and PDFs of a conversation's files beside a message: what each provider is sent, and what is refused."""

import asyncio
import base64
import struct
import uuid
import zlib
from typing import Any

import httpx
import pytest
from llmock.pytest_plugin import LLMock
from llmock.scenarios import Reply, ToolCall

from gateway.runs.prompting import attachments
from tests.compat.models import MOCKED
from tests.database import rows
from tests.pages.browsing import signed_in
from tests.people import Cast, Person
from tests.stack import Stack

PDF = b"%PDF-1.4\n1 0 obj\n<<>>\nendobj\n%%EOF\n"


def png(width: int = 120, height: int = 80) -> bytes:
    """A black picture."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    pixels = zlib.compress(b"\0" * ((width + 7) // 8 + 1) * height)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def conversation(stack: Stack, person: Person) -> str:
    """A new one."""
    made = httpx.post(f"{stack.url}/api/v1/conversations/", json={}, headers=person.headers)
    return str(made.json()["id"])


def upload(stack: Stack, person: Person, conversation_id: str, path: str, body: bytes) -> dict[str, Any]:
    """Put a file there."""
    at = f"{stack.url}/api/v1/conversations/{conversation_id}/files/"
    answer = httpx.put(at, params={"path": path}, content=body, headers=person.headers)
    assert answer.status_code in (200, 201), answer.text
    file: dict[str, Any] = answer.json()
    return file


def _sent(picture: str, document: str) -> dict[str, list[Any]]:
    """How each provider is sent the picture and the document after the text."""
    source = {"type": "base64", "media_type": "image/png", "data": picture}
    pdf = {"type": "base64", "media_type": "application/pdf", "data": document}
    return {
        "openai": [
            {"type": "text", "text": "What is this?"},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{picture}"}},
            {"type": "file", "file": {"filename": "b.pdf", "file_data": f"data:application/pdf;base64,{document}"}},
        ],
        "anthropic": [
            {"type": "text", "text": "What is this?"},
            {"type": "image", "source": source},
            {"type": "document", "source": pdf, "title": "b.pdf"},
        ],
        "gemini": [
            {"text": "What is this?"},
            {"inlineData": {"mimeType": "image/png", "data": picture}},
            {"inlineData": {"mimeType": "application/pdf", "data": document}},
        ],
    }


@pytest.mark.parametrize("family", list(MOCKED))
def test_a_picture_and_a_pdf_reach_every_provider_in_its_own_form_and_again_with_the_next_message(
    mocked: Stack, tenant: Cast, llmock: LLMock, family: str
) -> None:
    llmock.reply("A picture.", times=2)
    at, picture = conversation(mocked, tenant.alice), png()
    uploaded = upload(mocked, tenant.alice, at, "docs/a.png", picture)
    upload(mocked, tenant.alice, at, "b.pdf", PDF)
    files = [{"file": "./docs/a.png"}, {"file": "b.pdf", "version": 1}]
    model = MOCKED[family]
    said = mocked.chat(tenant.alice, "What is this?", conversation_id=at, attachments=files, model=model)
    assert (said.status_code, said.json()["content"]) == (200, "A picture.")
    assert mocked.chat(tenant.alice, "And now?", conversation_id=at, model=model).status_code == 200
    expected = _sent(base64.b64encode(picture).decode(), base64.b64encode(PDF).decode())[family]
    for request in llmock.requests:
        listed = request.body["contents" if family == "gemini" else "messages"]
        [first] = [each for each in listed if "What is this?" in str(each)]
        assert first["parts" if family == "gemini" else "content"] == expected
    messages = mocked.get(tenant.alice, f"/api/v1/conversations/{at}/messages/").json()["results"]
    assert messages[0]["attachments"][0] == {
        "file_id": uploaded["id"],
        "path": "docs/a.png",
        "version": 1,
        "media_type": "image/png",
        "size": len(picture),
        "sha256": uploaded["sha256"],
    }
    assert [message["attachments"] for message in messages[1:]] == [[], [], []]
    # Whoever reads what was uploaded may be told what to do by it, whichever way it is read.
    sources = rows("SELECT label, source FROM taint_sources WHERE conversation_id = %(c)s ORDER BY label", c=at)
    named = "docs/a.png and 1 more (attached)"
    assert sources == [{"label": "private", "source": named}, {"label": "untrusted", "source": named}]


def test_who_decides_about_a_call_is_told_what_was_attached_to_what_led_up_to_it(
    mocked: Stack, tenant: Cast, llmock: LLMock
) -> None:
    mail = {"to": "bob@example.com", "subject": "Hello", "body": "Hello."}
    llmock.add(Reply("I write.", (ToolCall("send_email", mail),)))
    at = conversation(mocked, tenant.alice)
    upload(mocked, tenant.alice, at, "docs/<b>.png", png())
    upload(mocked, tenant.alice, at, "b.pdf", PDF)
    files = [{"file": "docs/<b>.png"}, {"file": "b.pdf"}]
    said = mocked.chat(tenant.alice, "Send it.", conversation_id=at, attachments=files, model=MOCKED["openai"]).json()
    [waiting] = said["required_action"]["approvals"]
    request = mocked.get(tenant.carol, f"/api/v1/approvals/{waiting['id']}/").json()
    asked, answered = request["context"]
    assert asked == {
        "role": "user",
        "text": "Send it.",
        "cut": 0,
        "attached": [
            {"name": "<b>.png", "media_type": "image/png"},
            {"name": "b.pdf", "media_type": "application/pdf"},
        ],
    }
    assert answered == {"role": "assistant", "text": "I write.", "cut": 0}
    page = signed_in(tenant.carol).get(f"/approvals/{waiting['id']}/").content.decode()
    assert "Attached: &lt;b&gt;.png, b.pdf</p>" in page


def test_the_demo_model_says_what_it_sees(mocked: Stack, tenant: Cast) -> None:
    at = conversation(mocked, tenant.alice)
    upload(mocked, tenant.alice, at, "a.png", png(120, 80))
    upload(mocked, tenant.alice, at, "b.pdf", PDF)
    files = [{"file": "a.png"}, {"file": "b.pdf"}]
    said = mocked.chat(tenant.alice, "What is this?", conversation_id=at, attachments=files, model="offline/demo")
    assert said.json()["content"].startswith(
        f"I see a PNG picture of 120 × 80 pixels.\n\nI see a PDF b.pdf of {len(PDF)} bytes."
    )


def test_what_cannot_be_attached_is_refused_and_nothing_is_begun(mocked: Stack, tenant: Cast, llmock: LLMock) -> None:
    at, picture = conversation(mocked, tenant.alice), png()
    upload(mocked, tenant.alice, at, "a.png", picture)
    # Its name claims what its bytes are not.
    upload(mocked, tenant.alice, at, "b.png", b"<script>alert(1)</script>")
    upload(mocked, tenant.alice, at, "big.png", picture + b"\0" * attachments.MAX_BYTES)
    for file, code, words in [
        ({"file": "a.png", "version": 2}, "attachment_refused", "no file a.png with a version 2"),
        ({"file": "no.png"}, "attachment_refused", "no file no.png"),
        ({"file": "b.png"}, "attachment_refused", "neither a picture"),
        ({"file": "big.png"}, "attachment_refused", "5,242,880 bytes"),
        ({"file": "../a.png"}, "invalid_request", "“..”"),
        ({"file": "a.png", "version": True}, "invalid_request", "version"),
        ({"url": "http://169.254.169.254/"}, "invalid_request", "must be"),
        ("a.png", "invalid_request", "must be"),
    ]:
        answer = mocked.chat(tenant.alice, "Hi", conversation_id=at, attachments=[file])
        assert (answer.status_code, answer.json()["code"]) == (400, code), answer.text
        assert words in answer.json()["detail"] and answer.json()["field"].startswith("attachments[0]")
    for given, field in [
        ({"attachments": [{"file": "a.png"}]}, "conversation_id"),
        ({"attachments": [{"file": "a.png"}] * 11, "conversation_id": at}, "attachments"),
        ({"attachments": "a.png", "conversation_id": at}, "attachments"),
    ]:
        answer = mocked.chat(tenant.alice, "Hi", **given)
        assert (answer.status_code, answer.json()["field"]) == (400, field)
    # Nobody else's file is attached, nor said to be there.
    theirs = mocked.chat(tenant.bob, "Hi", conversation_id=at, attachments=[{"file": "a.png"}])
    assert theirs.status_code == 404
    own = conversation(mocked, tenant.bob)
    elsewhere = mocked.chat(tenant.bob, "Hi", conversation_id=own, attachments=[{"file": "a.png"}])
    assert (elsewhere.status_code, elsewhere.json()["code"]) == (400, "attachment_refused")
    assert rows("SELECT id FROM runs WHERE tenant_id = %(t)s", t=tenant.id) == []
    assert rows("SELECT id FROM messages WHERE tenant_id = %(t)s", t=tenant.id) == []
    assert rows("SELECT label FROM taint_sources WHERE tenant_id = %(t)s", t=tenant.id) == []
    assert llmock.requests == []


def test_a_model_that_takes_no_pictures_refuses_a_new_one_and_goes_on_where_an_older_one_was(
    mocked: Stack, tenant: Cast, llmock: LLMock
) -> None:
    llmock.reply("A picture.")
    llmock.reply("I know.")
    at, files = conversation(mocked, tenant.alice), [{"file": "a.png"}]
    upload(mocked, tenant.alice, at, "a.png", png())
    refused = mocked.chat(tenant.alice, "See", conversation_id=at, attachments=files, model="openai/gpt-3.5-turbo")
    assert (refused.status_code, refused.json()["code"]) == (400, "attachment_refused")
    assert "openai/gpt-3.5-turbo does not take a PNG picture (a.png)" in refused.json()["detail"]
    assert llmock.requests == []
    taken = mocked.chat(tenant.alice, "See", conversation_id=at, attachments=files, model=MOCKED["openai"])
    assert taken.status_code == 200
    later = mocked.chat(tenant.alice, "What was it?", conversation_id=at, model="openai/gpt-3.5-turbo")
    assert later.json()["content"] == "I know."
    [first] = [each for each in llmock.requests[-1].body["messages"] if "See" in str(each)]
    line = "[A PNG picture was here. This model does not take it, so it is left out.]"
    assert first["content"] == [{"type": "text", "text": "See"}, {"type": "text", "text": line}]


def test_a_file_that_was_deleted_since_is_a_line_in_its_place(mocked: Stack, tenant: Cast, llmock: LLMock) -> None:
    llmock.reply("A picture.", times=2)
    at = conversation(mocked, tenant.alice)
    file = upload(mocked, tenant.alice, at, "a.png", png())
    asked = {"conversation_id": at, "model": MOCKED["openai"]}
    assert mocked.chat(tenant.alice, "See", attachments=[{"file": "a.png"}], **asked).status_code == 200
    gone = httpx.delete(f"{mocked.url}/api/v1/conversations/{at}/files/{file['id']}/", headers=tenant.alice.headers)
    assert gone.status_code == 204
    assert mocked.chat(tenant.alice, "What was it?", **asked).status_code == 200
    [first] = [each for each in llmock.requests[-1].body["messages"] if "See" in str(each)]
    assert first["content"][1] == {
        "type": "text",
        "text": "[PNG picture a.png was attached here. It was deleted since.]",
    }


def test_no_content_of_another_persons_is_read_by_its_id(mocked: Stack, tenant: Cast, other_tenant: Cast) -> None:
    from tenants.scope.transactions import TenantScope, transaction
    from tools.files import attached
    from tools.files.attached import Attached

    file = upload(mocked, tenant.alice, conversation(mocked, tenant.alice), "a.png", png())
    wanted = [Attached(uuid.UUID(file["id"]), "a.png", 1, "image/png", file["size"], file["sha256"])]

    async def read(who: Person) -> dict[Any, bytes]:
        async with transaction(TenantScope(who.principal.tenant_id, who.principal.user_id)) as connection:
            return await attached.contents(connection, wanted)

    assert asyncio.run(read(tenant.alice)) == {(wanted[0].file_id, 1): png()}
    for other in (tenant.bob, tenant.olga, other_tenant.alice):
        assert asyncio.run(read(other)) == {}


def test_clients_of_v1_send_pdfs_and_pictures_in_base64(mocked: Stack, tenant: Cast, llmock: LLMock) -> None:
    llmock.reply("A page.", times=3)
    picture, document = base64.b64encode(png()).decode(), base64.b64encode(PDF).decode()
    data = f"data:application/pdf;base64,{document}"
    source = {"type": "base64", "media_type": "application/pdf", "data": document}
    for path, body in (
        ("chat/completions", {"messages": [_user({"type": "file", "file": {"filename": "b.pdf", "file_data": data}})]}),
        ("responses", {"input": [_user({"type": "input_file", "filename": "b.pdf", "file_data": data})]}),
        ("messages", {"messages": [_user({"type": "document", "source": source, "title": "b.pdf"})], "max_tokens": 9}),
    ):
        answer = _v1(mocked, tenant.alice, path, body, MOCKED["gemini"])
        assert answer.status_code == 200, answer.text
        sent = llmock.requests[-1].body["contents"][-1]["parts"]
        assert sent == [{"inlineData": {"mimeType": "application/pdf", "data": document}}]
    evil, script = "http://169.254.169.254/a.png", base64.b64encode(b"<svg onload='alert(1)'/>").decode()
    asked, text_only = len(llmock.requests), "openai/gpt-3.5-turbo"
    for path, part, model, words in (
        ("chat/completions", _url(f"data:image/png;base64,{script}"), MOCKED["openai"], "no picture"),
        ("chat/completions", _url(f"data:image/png;base64,{document}"), MOCKED["openai"], "no picture"),
        ("chat/completions", _url(f"data:image/png;base64,{picture}"), text_only, "does not take a PNG picture"),
        ("responses", {"type": "input_file", "file_url": evil}, MOCKED["openai"], "fetches no files"),
    ):
        name = "input" if path == "responses" else "messages"
        answer = _v1(mocked, tenant.alice, path, {name: [_user(part)], "max_tokens": 9}, model)
        assert (answer.status_code, words in answer.text) == (400, True), answer.text
    # An address is the provider's to fetch.
    llmock.reply("A picture.", times=2)
    by_address = {"messages": [_user(_url(evil))]}
    assert _v1(mocked, tenant.alice, "chat/completions", by_address, MOCKED["openai"]).status_code == 200
    assert evil in str(llmock.requests[-1].body)
    # It is a picture, whatever the request calls it.
    claimed = {"messages": [_user(_url(f"data:image/gif;base64,{picture}"))]}
    assert _v1(mocked, tenant.alice, "chat/completions", claimed, MOCKED["openai"]).status_code == 200
    assert f"data:image/png;base64,{picture}" in str(llmock.requests[-1].body)
    assert len(llmock.requests) == asked + 2


def _user(part: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": [part]}


def _url(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def _v1(stack: Stack, person: Person, path: str, body: dict[str, Any], model: str) -> httpx.Response:
    if path == "responses":
        body.pop("max_tokens", None)
    return httpx.post(f"{stack.url}/v1/{path}", json={"model": model, **body}, headers=person.headers)
