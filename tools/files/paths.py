"""The one normal form of a path in a workspace: `folder/name`, from the workspace's root, in Unicode's form NFC.

`/a.txt`, `./a.txt` and `a.txt` are one file: a leading `/` means the root of the workspace, `.` and empty segments say
nothing. So are the forms in which Unicode writes the same name. Upper and lower case are different names.
"""

import unicodedata

MAX_CHARACTERS = 1024
MAX_SEGMENT = 255
# Of UTF-8: what the index of paths holds.
MAX_BYTES = 2048
# A joiner and its opposite belong to how some languages and emoji are written; other invisible characters deceive.
_JOINERS = "\u200c\u200d"
_REFUSED = {"Cc", "Cf", "Cs", "Zl", "Zp"}


class InvalidPath(ValueError):
    """The text names no place in a workspace; the message says why, for the model and for people."""


def of_file(given: str) -> str:
    """The normal form of a file's path. Raises InvalidPath."""
    if given.endswith("/"):
        raise InvalidPath("The path ends in “/”, so it names a folder; name the file in it, such as notes/plan.md.")
    path = of_folder(given)
    if not path:
        raise InvalidPath("The path names no file; write one such as notes/plan.md.")
    return path


def of_folder(given: str) -> str:
    """The normal form of a folder's path, or of a file's; empty is the whole workspace. Raises InvalidPath."""
    if len(given) > 4 * MAX_CHARACTERS:
        raise _too_long()
    path = unicodedata.normalize("NFC", given)
    if any(unicodedata.category(each) in _REFUSED and each not in _JOINERS for each in path):
        raise InvalidPath("The path holds a control character or an invisible one; write it without.")
    if "\\" in path:
        raise InvalidPath("The path holds a backslash; folders are separated by “/”.")
    segments = [segment for segment in path.split("/") if segment not in ("", ".")]
    for segment in segments:
        if segment == "..":
            raise InvalidPath("The path holds “..”; write it from the root of the workspace, such as notes/plan.md.")
        if segment != segment.strip():
            raise InvalidPath("A name in the path begins or ends with a space; write it without.")
        if len(segment) > MAX_SEGMENT:
            raise InvalidPath(f"A name in the path is longer than {MAX_SEGMENT} characters.")
    path = "/".join(segments)
    if len(path) > MAX_CHARACTERS or len(path.encode()) > MAX_BYTES:
        raise _too_long()
    return path


def _too_long() -> InvalidPath:
    return InvalidPath(f"The path is longer than {MAX_CHARACTERS:,} characters, or than {MAX_BYTES:,} bytes of UTF-8.")
