"""The pages of a conversation's files, and the list beside the chat."""

import asyncio
import uuid
from typing import Any

import orjson
import pytest
from asgiref.sync import async_to_sync

from tests.database import rows
from tests.files.working import Workspace, conversation_of
from tests.pages.browsing import InProcess, signed_in
from tests.people import Cast, Person
from tools.keeping import exporting

HTMX = {"HX-Request": "true"}


@pytest.fixture
def workspace(tenant: Cast) -> Workspace:
    """A conversation of alice's."""
    return Workspace(tenant.alice, conversation_of(tenant.alice))


@pytest.fixture
def browser(tenant: Cast) -> InProcess:
    """Alice's."""
    return signed_in(tenant.alice)


def _written(workspace: Workspace, path: str, *texts: str) -> str:
    """The address of a file with these versions."""
    for text in texts:
        async_to_sync(workspace.write)(path, text)
    [file] = rows(
        "SELECT id FROM files WHERE conversation_id = %(c)s AND path = %(p)s", c=workspace.conversation_id, p=path
    )
    return f"/conversations/{workspace.conversation_id}/files/{file['id']}/"


def test_the_list_beside_the_chat_is_the_conversations_and_nobody_elses(
    browser: InProcess, workspace: Workspace, tenant: Cast, other_tenant: Cast
) -> None:
    at = f"/conversations/{workspace.conversation_id}/files/"
    assert "No files yet" in browser.get(at, headers=HTMX).content.decode()
    address = _written(workspace, "notes/<b>.md", "one\n")
    listed = browser.get(at, headers=HTMX).content.decode()
    assert "<html" not in listed and "notes/&lt;b&gt;.md" in listed and address in listed
    assert "<html" in browser.get(at).content.decode()
    for other in (tenant.bob, tenant.olga, other_tenant.alice):
        theirs = signed_in(other)
        for page in (at, address, f"/conversations/{conversation_of(other)}/files/{address.split('/')[4]}/"):
            assert theirs.get(page).status_code == 404
        assert theirs.post(f"{address}delete/", {"seen": "1"}).status_code == 404
    assert browser.get(address).status_code == 200


def test_the_page_of_a_file_shows_its_text_its_versions_and_what_changed(
    browser: InProcess, workspace: Workspace
) -> None:
    address = _written(workspace, "a.txt", "<script>alert(1)</script>\none", "two\u202e\none", "two\nthree")
    page = browser.get(address)
    html = page.content.decode()
    assert page.headers["Cache-Control"] == "private, no-store"
    assert "two\nthree</pre>" in html and "<script>alert" not in html
    assert [f"Version {number}</strong>" in html for number in (1, 2, 3, 4)] == [True, True, True, False]
    assert '<span data-line="remove">-one\n</span><span data-line="add">+two\n</span>' in html
    first = browser.get(f"{address}?from=1&to=2").content.decode()
    assert '<span data-line="remove">-&lt;script&gt;alert(1)&lt;/script&gt;\n</span>' in first
    assert '<span data-line="add">+two‹U+202E›\n</span>' in first
    # Versions that are none: the newest is shown.
    odd = browser.get(f"{address}?from=99&to=x").content.decode()
    assert '<span data-line="add">+two\n</span><span data-line="add">+three\n</span>' in odd


def test_a_file_that_is_no_text_is_offered_for_download_alone(browser: InProcess, workspace: Workspace) -> None:
    at = f"/api/v1/conversations/{workspace.conversation_id}/files/"
    made = browser.put(f"{at}?path=a.png", b"\x89PNG\r\n\x1a\n\0", content_type="application/octet-stream")
    assert made.status_code == 201
    page = browser.get(f"/conversations/{workspace.conversation_id}/files/{made.json()['id']}/").content.decode()
    assert "It is no text" in page and "What changed" not in page
    download = browser.get(f"{at}{made.json()['id']}/content/", headers={"Accept": "text/html"})
    assert download["Content-Disposition"] == 'attachment; filename="a.png"'


def test_a_file_is_deleted_unless_it_was_changed_since_it_was_read(browser: InProcess, workspace: Workspace) -> None:
    address = _written(workspace, "a.txt", "one", "two")
    stale = browser.post(f"{address}delete/", {"seen": "1"}, follow=True).content.decode()
    assert "It was changed since you read it" in stale and "two</pre>" in stale
    gone = browser.post(f"{address}delete/", {"seen": "2"}, follow=True).content.decode()
    assert "Deleted a.txt with all its versions." in gone
    assert browser.get(address).status_code == 404
    assert browser.get(f"/conversations/{uuid.uuid4()}/files/").status_code == 404


def test_a_long_list_goes_on_where_it_ended(
    browser: InProcess, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.web.file_pages.SHOWN", 2)
    for number in range(3):
        _written(workspace, f"f{number}", "x")
    at = f"/conversations/{workspace.conversation_id}/files/"
    first = browser.get(at, headers=HTMX).content.decode()
    assert ("f1" in first, ">f2<" in first, "?after=f1" in first) == (True, False, True)
    rest = browser.get(f"{at}?after=f1", headers=HTMX).content.decode()
    assert (">f2<" in rest, "Show more" in rest) == (True, False)


async def _exported(who: Person) -> list[Any]:
    return [orjson.loads(line) async for piece in exporting.lines(who.principal) for line in piece.splitlines()]


def test_files_are_in_the_export_with_what_they_hold(browser: InProcess, workspace: Workspace, tenant: Cast) -> None:
    _written(workspace, "a.txt", "one", "two")
    gone = _written(workspace, "gone.txt", "x")
    browser.post(f"{gone}delete/", {"seen": "1"})
    at = f"/api/v1/conversations/{workspace.conversation_id}/files/"
    browser.put(f"{at}?path=b.png", b"\x89PNG\r\n\x1a\n\0", content_type="application/octet-stream")
    _written(Workspace(tenant.bob, conversation_of(tenant.bob)), "his.txt", "secret")

    lines = asyncio.run(_exported(tenant.alice))
    found = [(each["kind"], each["path"], each["version"], each["text"], each["base64"]) for each in lines]
    assert found == [("file", "a.txt", 2, "two", None), ("file", "b.png", 1, None, "iVBORw0KGgoA")]


def test_what_a_tool_deleted_is_listed_restored_and_deleted_for_good(
    browser: InProcess, workspace: Workspace, tenant: Cast
) -> None:
    at, api = (f"{root}/conversations/{workspace.conversation_id}/files/" for root in ("", "/api/v1"))
    addresses = {path: _written(workspace, path, "one", "two") for path in ("a.txt", "b.txt", "c.txt")}
    ids = {path: address.split("/")[4] for path, address in addresses.items()}
    for path in addresses:
        async_to_sync(workspace.call)("delete_file", path=path)
    assert browser.get(addresses["a.txt"]).status_code == 404
    assert "3 deleted by a tool" in browser.get(at, headers=HTMX).content.decode()
    page = browser.get(at).content.decode()
    assert "Deleted by a tool" in page and page.count("Delete for good") == 3
    # Nobody else brings it back, or sees that it was there.
    theirs = signed_in(tenant.bob)
    assert theirs.post(f"{addresses['a.txt']}restore/").status_code == 404
    assert theirs.post(f"{api}{ids['a.txt']}/restore/").status_code == 404
    assert theirs.get(f"{api}?deleted=true").status_code == 404

    back = browser.post(f"{addresses['a.txt']}restore/", follow=True).content.decode()
    assert "a.txt is back." in back and "two</pre>" in back and "Version 4</strong>" in back
    listed = browser.get(f"{api}?deleted=true").json()["results"]
    assert [file["path"] for file in listed] == ["b.txt", "c.txt"]
    restored = browser.post(f"{api}{ids['b.txt']}/restore/")
    assert (restored.status_code, restored.json()["version"], restored.json()["size"]) == (200, 4, 3)
    assert browser.post(f"{api}{ids['b.txt']}/restore/").status_code == 404
    # There is a file of that path again.
    async_to_sync(workspace.write)("c.txt", "new")
    async_to_sync(workspace.call)("delete_file", path="c.txt")
    gone = browser.post(f"{addresses['c.txt']}delete/", {"seen": "5"}, follow=True).content.decode()
    assert "Deleted c.txt with all its versions." in gone and "Deleted by a tool" not in gone
    left = rows("SELECT id FROM file_versions WHERE file_id = %(f)s", f=ids["c.txt"])
    assert (left, browser.delete(f"{api}{ids['a.txt']}/").status_code) == ([], 204)
