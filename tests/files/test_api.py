"""The files of a conversation over REST, and what becomes of them with it."""

import uuid
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.conf import settings
from django.db import connection
from django.test import Client

from gateway.server import bodies
from tenants.scope import transactions
from tests.database import rows
from tests.files.working import Workspace, conversation_of
from tests.pages.browsing import InProcess
from tests.people import Cast, Person

HTML = b"<script>alert(document.domain)</script>"
_MANY = """
    SELECT count(*) FROM generate_series(%s, %s) n, LATERAL add_file_version(%s, 'd' || n / 100 || '/f' || n,
        convert_to('line of ' || n, 'UTF8'), 'text/plain', true, NULL, NULL, '{}', 1000000000, 1000000000) w
    WHERE w.outcome = 'written'"""
PNG = b"\x89PNG\r\n\x1a\n" + bytes(64)


class Api:
    """A person's client of one conversation's files."""

    def __init__(self, who: Person, conversation_id: uuid.UUID):
        self.who, self.at = who, f"/api/v1/conversations/{conversation_id}/files/"
        self.client: Client = InProcess()

    def ask(self, method: str, more: str = "", body: bytes = b"", **headers: str) -> Any:
        """The answer."""
        return self.client.generic(
            method, self.at + more, body, "application/octet-stream", headers=self.who.headers | headers
        )

    def put(self, path: str, body: bytes, more: str = "") -> Any:
        """An upload."""
        return self.ask("PUT", f"?path={path}{more}", body)


@pytest.fixture
def conversation_id(tenant: Cast) -> uuid.UUID:
    """One of alice's."""
    return conversation_of(tenant.alice)


@pytest.fixture
def api(tenant: Cast, conversation_id: uuid.UUID) -> Api:
    """Alice's client of it."""
    return Api(tenant.alice, conversation_id)


def _left(tenant: Cast) -> tuple[int, ...]:
    [row] = rows(
        "SELECT (SELECT count(*) FROM files WHERE tenant_id = %(t)s) AS files,"
        " (SELECT count(*) FROM file_versions WHERE tenant_id = %(t)s) AS versions,"
        " (SELECT count(*) FROM file_blobs WHERE tenant_id = %(t)s) AS blobs,"
        " (SELECT coalesce(sum(bytes), 0)::int FROM file_totals WHERE tenant_id = %(t)s) AS bytes",
        t=tenant.id,
    )
    return tuple(row.values())


def test_a_file_is_uploaded_listed_compared_and_downloaded(api: Api) -> None:
    first = api.put("notes/a.txt", b"one\ntwo\n")
    assert first.status_code == 201, first.content
    file = first.json()
    assert (file["path"], file["version"], file["size"], file["text"]) == ("notes/a.txt", 1, 8, True)
    assert api.put("./notes/a.txt", b"one\n2\n").json()["version"] == 2
    listed = api.ask("GET", "?path=notes").json()
    assert [each["id"] for each in listed["results"]] == [file["id"]]
    versions = api.ask("GET", f"{file['id']}/versions/").json()["results"]
    assert [(each["version"], each["size"], each["call_id"]) for each in versions] == [(2, 6, None), (1, 8, None)]
    diff = api.ask("GET", f"{file['id']}/diff/").json()
    assert diff["diff"].split("\n")[2:] == ["@@ -1,2 +1,2 @@", " one", "-two", "+2"]
    assert api.ask("GET", f"{file['id']}/diff/?from=0&to=1").json()["diff"].endswith("+one\n+two")
    assert api.ask("GET", f"{file['id']}/content/").content == b"one\n2\n"
    assert api.ask("GET", f"{file['id']}/content/?version=1").content == b"one\ntwo\n"
    assert api.ask("GET", f"{file['id']}/content/?version=9").status_code == 404


def test_a_download_is_never_a_page_of_ours(api: Api) -> None:
    file = api.ask("PUT", "?path=page.html", HTML, **{"Content-Type": "text/html"}).json()
    assert file["media_type"] == "text/plain"
    answer = api.ask("GET", f"{file['id']}/content/")
    assert answer.content == HTML
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert answer["Content-Disposition"] == 'attachment; filename="page.html"'
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Security-Policy"].startswith("sandbox; default-src 'none'")


def test_a_file_is_what_its_bytes_are_whatever_its_name_says(api: Api) -> None:
    assert api.put("a.html", PNG).json()["media_type"] == "image/png"
    assert api.put("a.png", b"\0\1").json()["media_type"] == "application/octet-stream"
    assert api.put("b.pdf", b"%PDF-1.7\n\xff").json()["media_type"] == "application/pdf"


def test_what_was_changed_since_it_was_read_is_left(api: Api) -> None:
    file = api.put("a", b"1").json()
    assert api.put("a", b"2", "&seen=1").json()["version"] == 2
    for stale in (
        api.put("a", b"3", "&seen=1"),
        api.put("a", b"3", "&seen=0"),
        api.ask("DELETE", f"{file['id']}/?seen=1"),
    ):
        assert (stale.status_code, stale.json()["code"]) == (409, "changed_meanwhile")
    assert api.ask("GET", f"{file['id']}/content/").content == b"2"


def test_a_deleted_file_is_gone_at_once_and_its_number_goes_on(api: Api, tenant: Cast) -> None:
    file = api.put("a", b"123").json()
    api.put("a", b"4567")
    assert api.ask("DELETE", f"{file['id']}/").status_code == 204
    assert _left(tenant) == (1, 0, 0, 0)
    for more in ("", "content/", "versions/", "diff/"):
        assert api.ask("GET", f"{file['id']}/{more}").status_code == 404
    assert api.ask("DELETE", f"{file['id']}/").status_code == 404
    assert api.ask("GET").json()["results"] == []
    assert api.put("a", b"new", "&seen=0").json()["version"] == 4


@pytest.mark.parametrize(
    "query", ["", "?path=", "?path=a/../b", "?path=a%00b", f"?path={'a/' * 2000}", "?path=a&seen=x", "?path=a&seen=-1"],
    ids=["none", "empty", "up", "nul", "long", "no number", "negative"],
)  # fmt: skip
def test_a_path_or_a_version_that_is_none_is_refused_with_words(api: Api, tenant: Cast, query: str) -> None:
    answer = api.ask("PUT", query, b"x")
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request"), answer.content
    assert _left(tenant) == (0, 0, 0, 0)


def test_what_does_not_fit_is_refused_and_nothing_is_stored(
    api: Api, tenant: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "TOOLGATE_MAX_FILE_BYTES", 1000)
    large = api.put("a", bytes(1001))
    assert (large.status_code, large.json()["code"]) == (413, "content_too_large")
    monkeypatch.setattr(settings, "TOOLGATE_MAX_CONVERSATION_FILE_BYTES", 900)
    full = api.put("a", bytes(901))
    assert (full.status_code, full.json()["code"]) == (409, "files_full")
    assert "operator" in full.json()["detail"]
    assert _left(tenant) == (0, 0, 0, 0)


def test_an_upload_alone_may_be_longer_than_another_body() -> None:
    def most(method: str, path: str) -> int:
        return bodies._most({"method": method, "path": path})

    files = f"/api/v1/conversations/{uuid.uuid4()}/files/"
    assert most("PUT", files) == settings.TOOLGATE_MAX_FILE_BYTES == 10 * 1024 * 1024
    assert most("POST", files) == most("PUT", files + "x") == most("PUT", "/api/v1/chat") == 4 * 1024 * 1024
    # Django would put what is larger than this into a file.
    assert settings.FILE_UPLOAD_MAX_MEMORY_SIZE >= settings.TOOLGATE_MAX_FILE_BYTES


def test_a_file_that_a_person_uploaded_was_written_by_anybody(
    api: Api, tenant: Cast, conversation_id: uuid.UUID
) -> None:
    api.put("a", b"a stranger's words")
    read = async_to_sync(Workspace(tenant.alice, conversation_id).call)("read_file", path="a")
    assert read.reads == {"untrusted"}


def test_another_persons_conversation_is_none(api: Api, tenant: Cast, other_tenant: Cast, conversation_id: Any) -> None:
    file = api.put("a", b"secret").json()
    for other in (tenant.bob, tenant.olga, other_tenant.alice):
        theirs = Api(other, conversation_id)
        for answer in (
            theirs.ask("GET"), theirs.put("a", b"x"), theirs.put("b", b"x"), theirs.ask("GET", f"{file['id']}/"),
            theirs.ask("GET", f"{file['id']}/content/"), theirs.ask("DELETE", f"{file['id']}/"),
        ):  # fmt: skip
            assert answer.status_code == 404
            assert b"secret" not in answer.content
        # Nor through a conversation of one's own.
        own = Api(other, conversation_of(other))
        assert own.ask("GET", f"{file['id']}/content/").status_code == 404
    assert api.ask("GET", f"{file['id']}/content/").content == b"secret"
    assert _left(tenant) == (1, 1, 1, 6)


@pytest.mark.parametrize("how", ["?erase=true", ""], ids=["erased", "deleted"])
def test_files_go_with_their_conversation_and_others_stay(
    api: Api, tenant: Cast, conversation_id: Any, how: str
) -> None:
    elsewhere = Api(tenant.bob, conversation_of(tenant.bob))
    elsewhere.put("b", b"shared")
    for path, body in (("a", b"shared"), ("b", b"mine"), ("a", b"again")):
        api.put(path, body)
    assert _left(tenant) == (3, 4, 3, 15)
    deleted = InProcess().delete(f"/api/v1/conversations/{conversation_id}/{how}", headers=tenant.alice.headers)
    assert deleted.status_code == 204, deleted.content
    assert _left(tenant) == (1, 1, 1, 6)
    assert api.put("a", b"x").status_code == 404


def test_ten_thousand_files_are_listed_searched_and_freed_in_bounded_time(api: Api, tenant: Cast) -> None:
    conversation_id = uuid.UUID(api.at.split("/")[4])
    workspace = Workspace(tenant.alice, conversation_id)
    for first in range(1, 10_001, 250):
        with transactions.scope(*tenant.alice.scope), connection.cursor() as cursor:
            cursor.execute(_MANY, [first, first + 249, conversation_id])
            assert cursor.fetchone() == (250,)
    listed = async_to_sync(workspace.call)("list_files").output
    assert listed["total"] == 10_000 and 50 < len(listed["files"]) <= 200
    found = async_to_sync(workspace.call)("search_files", pattern="of 98[0-9]7$").output
    assert [match["path"] for match in found["matches"]] == sorted(f"d{n // 100}/f{n}" for n in range(9807, 9900, 10))
    assert (found["files_searched"], found["complete"]) == (10_000, True)
    page = api.ask("GET", "?limit=200").json()
    assert len(page["results"]) == 200 and page["next"]
    assert (
        InProcess().delete(f"/api/v1/conversations/{conversation_id}/", headers=tenant.alice.headers).status_code == 204
    )
    assert _left(tenant) == (0, 0, 0, 0)
