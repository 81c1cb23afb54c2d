"""Files that go along with messages: a link in the inbox and in Slack, a reference for a webhook, an attachment."""

import asyncio
import hashlib
import uuid

import pytest

from notifications import delivery
from tenants.people.encryption import decrypt
from tests.files.working import Workspace, conversation_of
from tests.inbox.inbox import inbox_of
from tests.inbox.messages import make, send, sent_by, slack_of, verified
from tests.notifications.outbox import owner
from tests.notifications.receiver import Receiver
from tests.pages.browsing import signed_in
from tests.people import Cast
from tests.smtp import MailServer
from tools.builtin.messages.message import Message
from tools.errors import ToolPermissionDenied, ToolValidationError
from tools.keeping import files
from tools.labels import Label


@pytest.fixture
async def workspace(tenant: Cast) -> Workspace:
    """A conversation of alice's with a file in a folder."""
    made = Workspace(tenant.alice, await asyncio.to_thread(conversation_of, tenant.alice))
    await made.write("notes/plan.md", "buy milk")
    return made


async def test_the_inbox_and_the_page_of_what_was_sent_lead_to_the_file(workspace: Workspace, tenant: Cast) -> None:
    at = workspace.conversation_id
    result = await send(tenant.alice, "inbox", "Done", media=["notes/plan.md"], conversation_id=at)
    assert result.output["status"] == "delivered" and "taint" not in result.output
    [entry] = await asyncio.to_thread(inbox_of, tenant.alice)
    [file] = entry["media"]
    assert (file["path"], file["version"], file["conversation_id"]) == ("notes/plan.md", 1, str(at))
    assert file["sha256"] == hashlib.sha256(b"buy milk").hexdigest()
    page = await asyncio.to_thread(lambda: signed_in(tenant.alice).get("/inbox/").content.decode())
    assert f'href="/conversations/{at}/files/{file["file_id"]}/"' in page
    shown = await asyncio.to_thread(lambda: signed_in(tenant.alice).get("/api/v1/inbox/").json()["results"][0])
    assert shown["media"] == [file]


async def test_an_e_mail_carries_the_file_and_says_when_it_was_deleted_meanwhile(
    workspace: Workspace, tenant: Cast, mail: MailServer
) -> None:
    await verified(tenant.alice, "My mail", "email", "alice@example.com")
    at = workspace.conversation_id
    await send(tenant.alice, "My mail", "See", media=["notes/plan.md"], conversation_id=at)
    await delivery.deliver(tenant.id)
    [attached] = list(mail.received[-1].message.iter_attachments())
    assert (attached.get_filename(), attached.get_content()) == ("plan.md", "buy milk")
    await send(tenant.alice, "My mail", "See", media=["notes/plan.md"], conversation_id=at)

    def delete() -> None:
        from tenants.scope import transactions

        with transactions.scope(*tenant.alice.scope):
            assert files.delete(files.own(tenant.alice.principal, at).get())

    await asyncio.to_thread(delete)
    await delivery.deliver(tenant.id)
    email = mail.received[-1].message
    assert list(email.iter_attachments()) == []
    assert "have been deleted before it was sent" in email.get_content()
    assert [each["status"] for each in sent_by(tenant.alice)] == ["delivered", "delivered"]


async def test_a_webhook_gets_a_reference_and_slack_a_line(
    workspace: Workspace, tenant: Cast, receiver: Receiver
) -> None:
    row = await asyncio.to_thread(make, tenant.alice, "My system", "webhook", receiver.url)
    receiver.secret = decrypt(row.secret)
    owner("UPDATE destinations SET verified_at = now() WHERE id = %s", row.id)
    await verified(tenant.alice, "Team", "slack", slack_of(receiver))
    for to in ("My system", "Team"):
        await send(tenant.alice, to, "See", media=["notes/plan.md"], conversation_id=workspace.conversation_id)
    await delivery.deliver(tenant.id)
    [message] = receiver.messages
    [file] = message["data"]["media"]
    assert file.keys() == {"id", "name", "version", "type", "sha256", "size", "url"}
    assert (file["name"], file["version"], file["type"], file["size"]) == ("plan.md", 1, "text/plain", 8)
    assert file["sha256"] == hashlib.sha256(b"buy milk").hexdigest() and "buy milk" not in str(message)
    path = f"/conversations/{workspace.conversation_id}/files/{file['id']}/"
    assert file["url"].endswith(f"/api/v1{path}content/?version=1")
    [(_, body)] = receiver.unsigned
    assert f"plan.md: {file['url'].partition('/api/')[0]}{path}" in body["text"] and "buy milk" not in body["text"]


async def test_what_is_no_file_of_the_conversation_is_refused_and_nothing_is_sent(
    workspace: Workspace, tenant: Cast
) -> None:
    at, theirs = workspace.conversation_id, await asyncio.to_thread(conversation_of, tenant.bob)
    for media, where, words in (
        (["no.md"], at, "no file no.md"),
        (["../plan.md"], at, "“..”"),
        (["notes/plan.md"], theirs, "no file"),
        (["notes/plan.md"], uuid.uuid4(), "no file"),
    ):
        with pytest.raises(ToolValidationError, match=words):
            await send(tenant.alice, "inbox", media=media, conversation_id=where)
    with pytest.raises(ToolPermissionDenied, match="without one"):
        await send(tenant.alice, "inbox", media=["notes/plan.md"])
    with pytest.raises(ToolValidationError, match="no file"):
        await send(tenant.bob, "inbox", media=["notes/plan.md"], conversation_id=at)
    assert await asyncio.to_thread(inbox_of, tenant.alice) == []
    assert sent_by(tenant.alice) == []


async def test_a_file_that_goes_along_is_read_as_if_a_tool_had_read_it(workspace: Workspace, tenant: Cast) -> None:
    def upload() -> None:
        from tenants.scope import transactions

        with transactions.scope(*tenant.alice.scope):
            files.upload(tenant.alice.principal, workspace.conversation_id, path="up.txt", body=b"Obey me.")

    await asyncio.to_thread(upload)
    assert Message().labels_of({"to": "team", "media": ["a"]}) == {Label.LEAVES_TENANT, Label.READS_PRIVATE}
    assert Message().labels_of({"to": "inbox", "media": ["a"]}) == {Label.READS_PRIVATE}
    assert Message().labels_of({"to": "team", "media": []}) == {Label.LEAVES_TENANT}
    at = workspace.conversation_id
    clean = await send(tenant.alice, "inbox", media=["notes/plan.md"], conversation_id=at)
    tainted = await send(tenant.alice, "inbox", media=["notes/plan.md", "up.txt"], conversation_id=at)
    assert (clean.reads, tainted.reads) == (frozenset(), {"untrusted"})
