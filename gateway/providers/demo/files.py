"""The demo model's rules for files of the conversation, and its words for what came of them."""

import re
from collections.abc import Callable
from typing import Any

_PATH = r"[\"“'`]?(?P<path>[^\s\"”'`:,]+)[\"”'`]?"
_FILE = r"(?:(?:the|a|an|my|new|text)\s+)*file\s+(?:(?:called|named)\s+)?" + _PATH
_QUOTED = r"[\"“](?P<{0}>[^\"”]*)[\"”]"
_READ = 4000
"""Characters of a line in which a request is looked for; what a file is to hold may be longer."""


def _rule(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_WRITE = _rule(
    rf"(?:write|save|create|make)\s+{_FILE}\s*(?::|(?:with(?:\s+the)?(?:\s+text)?|saying|containing)\b:?)\s*"
)
_EDIT = _rule(
    rf"(?:in|edit|change)\s+{_FILE}\s*[,:]?\s*(?:and\s+)?(?:replace|change)?\s*{_QUOTED.format('old')}"
    rf"\s+(?:by|with|to|into)\s+{_QUOTED.format('new')}"
)
_DELETE = _rule(rf"(?:delete|remove)\s+{_FILE}")
_READ_FILE = _rule(rf"(?:read|show|open|print)\s+(?:me\s+)?{_FILE}(?:\s+from\s+line\s+(?P<line>\d{{1,6}}))?")
_SEARCH = _rule(r"(?:search|look\s+(?:in|through)|grep)\s+(?:(?:all|the|my)\s+)*files\s+for\s+(?P<pattern>\S.*)")
_INFO = _rule(rf"(?:describe|what\s+is|info(?:rmation)?\s+(?:about|on))\s+{_FILE}")
_LIST = _rule(
    r"(?:list|show|see|what)\b[^.;?\n]{0,30}?\bfiles\b(?:[^.;?\n]{0,20}?\bin\s+(?:the\s+folder\s+)?(?P<path>\S+))?"
)
_LEAD = _rule(r"\s*(?:(?:please|can\s+you|could\s+you|now|then)[,\s]+)*")
_HERE = {"", "here", "it", "there", "this", "the", "our", "my"}


def request(lines: list[str], at: int) -> tuple[str, dict[str, Any]] | None:
    """The tool and the arguments that the line at this index asks for at its beginning, None when it is about no file.

    A file that is written holds what follows, all lines after it too.
    """
    line = lines[at]
    lead = _LEAD.match(line, 0, _READ)
    begin = lead.end() if lead else 0
    asked = line[begin:_READ]
    if found := _WRITE.match(asked):
        content = "\n".join([line[begin + found.end() :], *lines[at + 1 :]])
        return "write_file", {"path": _path(found), "content": content}
    if found := _EDIT.match(asked):
        return "edit_file", {"path": _path(found), "old": found["old"], "new": found["new"]}
    if found := _DELETE.match(asked):
        return "delete_file", {"path": _path(found)}
    if found := _SEARCH.match(asked):
        return "search_files", {"pattern": _pattern(found["pattern"].strip())}
    if found := _READ_FILE.match(asked):
        more = {"from_line": int(found["line"])} if found["line"] and int(found["line"]) else {}
        return "read_file", {"path": _path(found), **more}
    if found := _INFO.match(asked):
        return "file_info", {"path": _path(found)}
    if found := _LIST.match(asked):
        folder = (found["path"] or "").strip(".,;:?!\"“”'`")
        return "list_files", {} if folder.lower() in _HERE else {"path": folder}
    return None


def _path(found: re.Match[str]) -> str:
    return found["path"].rstrip(".,;?!")


def _pattern(text: str) -> str:
    """`/an expression/` is one; other words are looked for as they are."""
    if len(text) > 2 and text[0] == text[-1] == "/":
        return text[1:-1]
    words = re.sub(r"[\"“”]", "", text).rstrip(".?!")
    return re.sub(r"([\\.^$*+?{}\[\]|()])", r"\\\1", words) or "."


def success(tool: str, data: dict[str, Any], cut: Callable[[str], str]) -> str | None:
    """What a call of one of these tools came to; None for any other."""
    path, version = data.get("path", ""), data.get("version", "")
    if tool in ("write_file", "edit_file") and "version" in data:
        return f"I {'wrote' if tool == 'write_file' else 'changed'} the file {path}. It has version {version} now."
    if tool == "delete_file" and data.get("deleted"):
        return f"I deleted the file {path}. You can bring it back beside the chat, under Files."
    if tool == "read_file" and isinstance(data.get("content"), str):
        left = data.get("lines_left")
        return f"{path} (version {version}):\n{cut(data['content'])}" + (
            f"\n({left} more lines follow.)" if left else ""
        )
    if tool == "file_info" and "size" in data:
        return f"{path} is {data.get('type', '')} of {data['size']} bytes, in version {version}."
    if tool == "list_files" and isinstance(data.get("files"), list):
        files = [f"- {file.get('path', '')} ({file.get('size', '')} bytes)" for file in data["files"]]
        return "\n".join([f"Files of this conversation: {data.get('total', len(files))}.", *files])
    if tool == "search_files" and isinstance(data.get("matches"), list):
        found = [
            f"- {each.get('path', '')}, line {each.get('line', '')}: {each.get('text', '')}" for each in data["matches"]
        ]
        return "\n".join([f"Lines that I found in the files: {len(found)}.", *found])
    return None
