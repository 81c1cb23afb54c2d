"""The tools of files, in a call's own transaction and tenant."""

import asyncio
import uuid

import orjson
import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from psycopg.errors import InsufficientPrivilege

from tenants.scope.transactions import transaction
from tests.database import rows, waited_for
from tests.files.working import Workspace, conversation_of
from tests.people import Cast
from tests.tools.context import context
from tests.waiting import eventually
from tools.errors import ToolError, ToolExecutionError, ToolPermissionDenied, ToolUnavailable, ToolValidationError
from tools.files import FileStore, search
from tools.interface import Artifact
from tools.registry import registry


@pytest.fixture
def workspace(tenant: Cast) -> Workspace:
    """A conversation of alice's."""
    return Workspace(tenant.alice, conversation_of(tenant.alice))


def _stored(workspace: Workspace) -> dict[str, int]:
    [row] = rows(
        "SELECT (SELECT count(*) FROM file_versions WHERE tenant_id = %(t)s) AS versions,"
        " (SELECT count(*) FROM file_blobs WHERE tenant_id = %(t)s) AS blobs,"
        " (SELECT coalesce(sum(size), 0)::int FROM file_blobs WHERE tenant_id = %(t)s) AS bytes,"
        " (SELECT coalesce(sum(bytes), 0)::int FROM file_totals WHERE tenant_id = %(t)s) AS counted",
        t=workspace.who.principal.tenant_id,
    )
    return dict(row)


async def test_a_file_is_written_read_by_lines_and_described(workspace: Workspace) -> None:
    result = await workspace.call("write_file", path="notes/plan.md", content="one\ntwo\nthree\nfour\n")
    assert result.output == {"path": "notes/plan.md", "version": 1, "size": 19}
    assert result.display == "Wrote notes/plan.md (version 1)"
    [file] = rows("SELECT id FROM files WHERE conversation_id = %(c)s", c=workspace.conversation_id)
    assert result.artifacts == (Artifact("file", str(file["id"]), "created"),)
    read = (await workspace.call("read_file", path="notes/plan.md", from_line=2, lines=2)).output
    assert read == {
        "path": "notes/plan.md", "version": 1, "content": "two\nthree", "from_line": 2, "lines": 2,
        "total_lines": 4, "lines_left": 1,
    }  # fmt: skip
    info = (await workspace.call("file_info", path="notes/plan.md")).output
    assert (info["size"], info["lines"], info["text"], info["type"]) == (19, 4, True, "text/plain")
    listed = (await workspace.call("list_files")).output
    assert listed["total"] == 1
    assert [(file["path"], file["size"], file["version"]) for file in listed["files"]] == [("notes/plan.md", 19, 1)]


async def test_each_write_is_a_version_with_the_call_that_wrote_it_and_the_same_again_is_none(
    workspace: Workspace,
) -> None:
    versions = [await workspace.write("a", text) for text in ("1", "2", "2", "1")]
    assert versions == [1, 2, 2, 3]
    written = rows(
        "SELECT version, call_id FROM file_versions WHERE conversation_id = %(c)s ORDER BY version",
        c=workspace.conversation_id,
    )
    assert [row["version"] for row in written] == [1, 2, 3]
    assert len({row["call_id"] for row in written}) == 3
    # "1" is stored once.
    assert _stored(workspace) == {"versions": 3, "blobs": 2, "bytes": 2, "counted": 2}


async def test_of_many_versions_the_last_hundred_stay_and_the_others_contents_are_freed(workspace: Workspace) -> None:
    for number in range(105):
        await workspace.write("a", f"{number:03}")
    assert _stored(workspace) == {"versions": 100, "blobs": 100, "bytes": 300, "counted": 300}


async def test_an_edit_replaces_what_occurs_once(workspace: Workspace) -> None:
    await workspace.write("a", "x = 1\ny = 2\n")
    result = await workspace.call("edit_file", path="a", old="y = 2", new="y = 3")
    assert result.output == {"path": "a", "version": 2, "size": 12}
    assert await workspace.read("a") == "x = 1\ny = 3"


@pytest.mark.parametrize(
    ("old", "words"),
    [("zz", "does not occur"), ("a", "occurs 4 times"), ("aa", "occurs 2 times"), ("b\nc", "are the same")],
)
async def test_an_edit_that_is_not_exact_changes_nothing(workspace: Workspace, old: str, words: str) -> None:
    await workspace.write("f", "aaa\nab\nc\n")
    with pytest.raises(ToolError, match=words):
        await workspace.call("edit_file", path="f", old=old, new="b\nc")
    assert await workspace.read("f") == "aaa\nab\nc"
    assert _stored(workspace)["versions"] == 1


async def test_an_edit_keeps_the_line_ends_that_the_file_has(workspace: Workspace) -> None:
    async with transaction(workspace.who.scope) as connection:
        files = FileStore(connection, *workspace.who.scope, workspace.conversation_id, uuid.uuid4())
        await files.write("dos.txt", b"one\r\ntwo\r\n")
    assert await workspace.read("dos.txt") == "one\ntwo"
    await workspace.call("edit_file", path="dos.txt", old="one\ntwo", new="1\n2")
    [row] = rows(
        "SELECT b.content FROM file_blobs b JOIN file_versions v USING (tenant_id, hash)"
        " WHERE v.conversation_id = %(c)s AND v.version = 2",
        c=workspace.conversation_id,
    )
    assert bytes(row["content"]) == b"1\r\n2\r\n"


async def test_a_write_of_a_version_that_has_changed_is_refused(workspace: Workspace) -> None:
    await workspace.write("a", "1")
    async with transaction(workspace.who.scope) as connection:
        files = FileStore(connection, *workspace.who.scope, workspace.conversation_id, uuid.uuid4())
        file = await files.find("a")
        await workspace.write("a", "2")
        with pytest.raises(Exception, match="it has version 2 now"):
            await files.write("a", b"3", replaces=file["version"])
    assert await workspace.read("a") == "2"


@pytest.mark.parametrize(
    "path",
    ["/a/b.txt", "./a/b.txt", "a//b.txt", "a/./b.txt", "a/b.txt"],
    ids=["absolute", "dot", "empty", "in", "plain"],
)
async def test_other_spellings_of_a_path_are_the_same_file(workspace: Workspace, path: str) -> None:
    await workspace.write(path, "x")
    assert await workspace.paths() == ["a/b.txt"]


async def test_other_unicode_forms_of_a_name_are_the_same_file(workspace: Workspace) -> None:
    assert await workspace.write("cafe\u0301.txt", "1") == 1
    assert await workspace.write("caf\u00e9.txt", "2") == 2
    assert await workspace.paths() == ["caf\u00e9.txt"]


REFUSED = {
    "up": "../a", "in the middle": "a/../b", "nul": "a\0b", "newline": "a\nb", "bidi": "a\u202egpj.exe",
    "zero width": "a\u200bb", "backslash": "..\\a", "long": "a/" * 2000, "long name": "a" * 256, "space": "a /b",
    "surrogate": "a\ud800", "folder": "a/", "nothing": "/", "many bytes": "\U0001f600/" * 500,
}  # fmt: skip


@pytest.mark.parametrize("path", REFUSED.values(), ids=REFUSED)
async def test_a_path_that_names_no_file_is_refused_with_words(workspace: Workspace, path: str) -> None:
    for tool, more in (("write_file", {"content": "x"}), ("read_file", {}), ("edit_file", {"old": "a", "new": "b"})):
        with pytest.raises(ToolValidationError) as caught:
            await workspace.call(tool, path=path, **more)
        assert caught.value.field == "path"
    assert _stored(workspace)["versions"] == 0


async def test_the_longest_path_is_taken(workspace: Workspace) -> None:
    path = "/".join(["é" * 255] * 4)
    assert (len(path), await workspace.write(path, "x")) == (1023, 1)
    assert await workspace.paths("é" * 255) == [path]


async def test_a_folder_lists_what_is_in_it_and_no_neighbour(workspace: Workspace) -> None:
    for path in ("a/1", "a/b/2", "a-b/3", "a0", "A/4", "a.txt"):
        await workspace.write(path, path)
    assert await workspace.paths("a") == ["a/1", "a/b/2"]
    assert await workspace.paths("a/b/") == ["a/b/2"]
    assert await workspace.paths("a0") == ["a0"]
    assert await workspace.paths("nowhere") == []


async def test_files_are_searched_by_lines(workspace: Workspace) -> None:
    await workspace.write("a.py", "import os\n\nclass Gate:\n    pass\n")
    await workspace.write("b/c.py", "class Other: ...\nno")
    found = (await workspace.call("search_files", pattern=r"^class (\w+)")).output
    assert found == {
        "matches": [
            {"path": "a.py", "line": 3, "text": "class Gate:"},
            {"path": "b/c.py", "line": 1, "text": "class Other: ..."},
        ],
        "files_searched": 2,
        "complete": True,
    }  # fmt: skip
    found = (await workspace.call("search_files", pattern="(?i)GATE|no$", path="b")).output
    assert [match["line"] for match in found["matches"]] == [2]
    # A match stays within its line, and an empty one is a match of each line.
    assert (await workspace.call("search_files", pattern="os\\s+class")).output["matches"] == []
    assert len((await workspace.call("search_files", pattern="x*", path="a.py")).output["matches"]) == 4


@pytest.mark.parametrize("pattern", ["(", "(?=a)", r"(a)\1", "a{1001}", "[z-a]"])
async def test_what_is_no_linear_expression_is_refused(workspace: Workspace, pattern: str) -> None:
    with pytest.raises(ToolValidationError, match="RE2") as caught:
        await workspace.call("search_files", pattern=pattern)
    assert caught.value.field == "pattern"


async def test_a_search_made_to_be_slow_stops_and_says_so(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "MOST_WORK", 2**24)
    for number in range(3):
        await workspace.write(f"{number}", "ab" * 5000)
    # More than 900 instructions for each of 10,000 bytes: one file is all it affords.
    found = (await workspace.call("search_files", pattern="[ab]*a[ab]{900}c")).output
    assert found == {"matches": [], "files_searched": 1, "complete": False}
    assert (await workspace.call("search_files", pattern="(a*)*(b|a)*c")).output["complete"] is True


async def test_a_search_shows_a_hundred_lines_and_no_long_ones(workspace: Workspace) -> None:
    await workspace.write("a", "x" * 1000 + "\n" + "x\n" * 500)
    result = await workspace.call("search_files", pattern="x")
    lines = [match["line"] for match in result.output["matches"]]
    assert (lines, result.output["complete"]) == (list(range(1, 101)), False)
    assert result.output["matches"][0]["text"] == "x" * 300 + "…"
    assert result.display == "100 lines for “x”, not everything searched"


@pytest.mark.parametrize("body", [b"\x89PNG\r\n\x1a\n", b"a\0b", "é".encode("latin-1"), b"\x1b[31mred"])
async def test_what_is_no_text_is_listed_and_neither_read_nor_edited(workspace: Workspace, body: bytes) -> None:
    async with transaction(workspace.who.scope) as connection:
        files = FileStore(connection, *workspace.who.scope, workspace.conversation_id, uuid.uuid4())
        await files.write("x.bin", body)
    for tool, more in (("read_file", {}), ("edit_file", {"old": "a", "new": "b"})):
        with pytest.raises(ToolExecutionError, match="is no text"):
            await workspace.call(tool, path="x.bin", **more)
    assert (await workspace.call("search_files", pattern=".")).output["files_searched"] == 0
    assert (await workspace.call("file_info", path="x.bin")).output["lines"] is None


async def test_a_line_behind_the_last_and_a_file_that_is_none_are_refused(workspace: Workspace) -> None:
    await workspace.write("a", "1\n2")
    with pytest.raises(ToolValidationError, match="a has 2 lines; there is no line 3"):
        await workspace.call("read_file", path="a", from_line=3)
    with pytest.raises(ToolExecutionError, match="There is no file b in this conversation"):
        await workspace.call("read_file", path="b")


async def test_a_long_file_is_read_in_parts(workspace: Workspace) -> None:
    await workspace.write("a", "\n".join(["y" * 300] * 600))
    first = (await workspace.call("read_file", path="a")).output
    assert (first["lines"], first["lines_left"]) == (46, 554)
    await workspace.write("b", '"' * 150_000)
    cut = (await workspace.call("read_file", path="b")).output
    assert (cut["cut"], cut["lines_left"]) == (True, 0)
    # A model is given no more of an output.
    assert all(len(orjson.dumps(output)) < 16_384 for output in (first, cut))


async def test_bounds_of_file_conversation_and_tenant_refuse_and_leave_everything(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    await workspace.write("a", "1" * 600)
    with pytest.raises(ToolExecutionError, match="at most 1,048,576 can be written"):
        await workspace.call("write_file", path="b", content="é" * 600_000)
    monkeypatch.setattr(settings, "TOOLGATE_MAX_CONVERSATION_FILE_BYTES", 1000)
    with pytest.raises(ToolExecutionError, match="The files of this conversation"):
        await workspace.write("b", "2" * 401)
    elsewhere = Workspace(workspace.who, await sync_to_async(conversation_of)(workspace.who))
    monkeypatch.setattr(settings, "TOOLGATE_MAX_TENANT_FILE_BYTES", 1000)
    with pytest.raises(ToolExecutionError, match="The files of your tenant"):
        await elsewhere.write("b", "2" * 401)
    assert _stored(workspace) == {"versions": 1, "blobs": 1, "bytes": 600, "counted": 600}
    assert await elsewhere.paths() == []
    # What is stored already takes no more of the tenant's room.
    assert await elsewhere.write("b", "1" * 600) == 1


async def test_what_cannot_be_counted_is_not_written(workspace: Workspace) -> None:
    await workspace.write("a", "1")
    async with transaction(workspace.who.scope) as connection:
        # Another transaction holds the file.
        files = FileStore(connection, *workspace.who.scope, workspace.conversation_id, uuid.uuid4())
        await files.write("a", b"2")
        with pytest.raises(ToolUnavailable, match="Try again"):
            await workspace.write("b", "3")
    assert await workspace.paths() == ["a"]


async def test_a_call_without_a_conversation_has_no_files() -> None:
    for name in ("read_file", "write_file", "edit_file", "delete_file", "list_files", "search_files", "file_info"):
        tool = registry().get(name)
        assert tool is not None
        with pytest.raises(ToolPermissionDenied, match="Files belong to a conversation"):
            await tool.execute({"path": "a", "content": "", "old": "a", "new": "b", "pattern": "a"}, context())


async def test_what_a_tool_deletes_is_read_no_more_and_its_versions_stay(workspace: Workspace, tenant: Cast) -> None:
    await workspace.write("a", "1")
    await workspace.write("a", "2")
    result = await workspace.call("delete_file", path="./a")
    assert (result.output, result.display) == ({"path": "a", "deleted": True}, "Deleted a; it can be brought back")
    assert [(each.kind, each.action) for each in result.artifacts] == [("file", "deleted")]
    assert await workspace.paths() == []
    for tool in ("read_file", "file_info", "delete_file"):
        with pytest.raises(ToolExecutionError, match="no file a"):
            await workspace.call(tool, path="a")
    kept = "SELECT version FROM file_versions WHERE conversation_id = %(c)s ORDER BY version"
    assert rows(kept, c=workspace.conversation_id) == [{"version": 1}, {"version": 2}]
    # A new file of that path goes on counting.
    assert await workspace.write("a", "3") == 4
    [file] = rows("SELECT id FROM files WHERE conversation_id = %(c)s", c=workspace.conversation_id)
    for who, seen, outcome in (
        (tenant.bob, 4, "none"),
        (tenant.alice, 3, "changed"),
        (tenant.alice, None, "changed"),
        (tenant.alice, 4, "removed"),
    ):
        async with transaction(who.scope) as connection:
            answered = await connection.execute("SELECT remove_file(%s, %s) AS outcome", [file["id"], seen])
            assert await answered.fetchone() == {"outcome": outcome}


async def test_nobody_elses_files_are_reached(workspace: Workspace, tenant: Cast, other_tenant: Cast) -> None:
    await workspace.write("a", "secret")
    for other in (tenant.bob, tenant.olga, other_tenant.alice):
        theirs = Workspace(other, workspace.conversation_id)
        assert await theirs.paths() == []
        assert (await theirs.call("search_files", pattern="secret")).output["matches"] == []
        with pytest.raises(ToolExecutionError):
            await theirs.write("a", "mine")
    assert await workspace.read("a") == "secret"
    [file] = rows("SELECT id FROM files WHERE conversation_id = %(c)s", c=workspace.conversation_id)
    async with transaction(tenant.bob.scope) as connection:
        found = await connection.execute("SELECT * FROM file_contents(%s, NULL)", [[file["id"]]])
        assert await found.fetchall() == []
    with pytest.raises(InsufficientPrivilege, match="file_blobs"):
        async with transaction(workspace.who.scope) as connection:
            await (await connection.execute("SELECT content FROM file_blobs")).fetchall()


async def test_the_same_content_of_two_tenants_is_stored_twice(workspace: Workspace, other_tenant: Cast) -> None:
    elsewhere = Workspace(other_tenant.alice, await sync_to_async(conversation_of)(other_tenant.alice))
    for each in (workspace, elsewhere):
        await each.write("a", "the same")
        assert _stored(each) == {"versions": 1, "blobs": 1, "bytes": 8, "counted": 8}


async def _taint(workspace: Workspace, label: str) -> None:
    """As a settled call leaves it."""
    async with transaction(workspace.who.scope) as connection:
        await connection.execute(
            "SELECT add_taint(%s, %s, %s, NULL, %s, 'web_search', NULL)",
            [*workspace.who.scope, workspace.conversation_id, [label]],
        )


async def test_a_file_remembers_what_was_read_before_it_was_written(workspace: Workspace) -> None:
    await workspace.write("clean", "1")
    await workspace.write("a", "1")
    await _taint(workspace, "untrusted")
    await workspace.write("a", "what the page said")
    assert (await workspace.call("read_file", path="clean")).reads == frozenset()
    for tool, more in (
        ("read_file", {"path": "a"}),
        ("file_info", {"path": "a"}),
        ("list_files", {}),
        ("search_files", {"pattern": "page"}),
    ):
        assert (await workspace.call(tool, **more)).reads == {"untrusted"}, tool
    assert (await workspace.call("search_files", pattern="^1")).reads == frozenset()
    found = rows(
        "SELECT v.version, v.taint FROM file_versions v JOIN files f ON f.id = v.file_id"
        " WHERE f.conversation_id = %(c)s AND f.path = 'a' ORDER BY 1",
        c=workspace.conversation_id,
    )
    assert [tuple(row.values()) for row in found] == [(1, []), (2, ["untrusted"])]


async def test_a_new_version_holds_what_its_old_one_held(workspace: Workspace) -> None:
    async with transaction(workspace.who.scope) as connection:
        files = FileStore(connection, *workspace.who.scope, workspace.conversation_id, uuid.uuid4())
        await files.write("a", b"a stranger's words", reads=frozenset({"untrusted"}))
    await workspace.call("edit_file", path="a", old="words", new="text")
    assert (await workspace.call("read_file", path="a")).reads == {"untrusted"}


async def test_who_writes_waits_for_the_deletion_of_the_conversation_and_holds_nothing_of_it(
    workspace: Workspace,
) -> None:
    await workspace.write("a", "1")
    async with transaction(workspace.who.scope) as deleting:
        # As an erasure begins. What is fetched has been locked; what is only executed may still be on its way.
        held = "SELECT id FROM conversations WHERE id = %s FOR UPDATE"
        await (await deleting.execute(held, [workspace.conversation_id])).fetchall()
        writing = asyncio.create_task(workspace.write("a", "2"))
        await eventually(lambda: writing.done() or waited_for(deleting))
        await deleting.execute("DELETE FROM conversations WHERE id = %s", [workspace.conversation_id])
    with pytest.raises(ToolError):
        await writing
    assert _stored(workspace) == {"versions": 0, "blobs": 0, "bytes": 0, "counted": 0}
