"""The demo model's requests about files."""

from typing import Any

import orjson
import pytest

from gateway.providers.demo.rules import plan
from gateway.providers.demo.summary import summary


@pytest.mark.parametrize(
    ("text", "tool", "arguments"),
    [
        (
            "Please write a file notes/plan.md: # Plan\n- milk\n- list my tasks",
            "write_file",
            {"path": "notes/plan.md", "content": "# Plan\n- milk\n- list my tasks"},
        ),
        ("Create a new file called “a.txt” with the text hello", "write_file", {"path": "a.txt", "content": "hello"}),
        ("Read the file notes/plan.md.", "read_file", {"path": "notes/plan.md"}),
        ("show me the file a.txt from line 20", "read_file", {"path": "a.txt", "from_line": 20}),
        (
            'In the file plan.md, replace "milk" by "tea"',
            "edit_file",
            {"path": "plan.md", "old": "milk", "new": "tea"},
        ),
        ("edit the file a.txt: replace “x” with “”", "edit_file", {"path": "a.txt", "old": "x", "new": ""}),
        ("What files are there?", "list_files", {}),
        ("can you list all files in the folder notes/x?", "list_files", {"path": "notes/x"}),
        ("search the files for f(x).", "search_files", {"pattern": r"f\(x\)"}),
        ("search my files for /a.*b/", "search_files", {"pattern": "a.*b"}),
        ("describe the file a.md", "file_info", {"path": "a.md"}),
    ],
)
def test_a_request_about_files_is_a_call(text: str, tool: str, arguments: dict[str, Any]) -> None:
    assert plan(text).calls == [(tool, arguments)]


@pytest.mark.parametrize("text", ["note: write a file x: y", "search the web for files", "save a note: see the files"])
def test_a_request_that_only_speaks_of_files_is_what_it_was(text: str) -> None:
    [(tool, _)] = plan(text).calls
    assert not tool.endswith(("_file", "_files"))


def test_what_comes_of_files_is_said_in_words() -> None:
    def said(tool: str, data: dict[str, Any]) -> str:
        return summary(tool, "{}", orjson.dumps({"ok": True, "data": data}).decode())

    assert said("write_file", {"path": "a", "version": 2, "size": 1}) == "I wrote the file a. It has version 2 now."
    read = {"path": "a", "version": 1, "content": "x\ny", "lines_left": 3}
    assert said("read_file", read) == "a (version 1):\nx\ny\n(3 more lines follow.)"
    listed = {"files": [{"path": "a", "size": 4}], "total": 1}
    assert said("list_files", listed) == "Files of this conversation: 1.\n- a (4 bytes)"
    found = {"matches": [{"path": "a", "line": 2, "text": "y"}], "files_searched": 1, "complete": True}
    assert said("search_files", found) == "Lines that I found in the files: 1.\n- a, line 2: y"
