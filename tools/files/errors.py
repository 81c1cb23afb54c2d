"""Why a file was not written or deleted, as one tree; what a tool or a request says of it is in `words`.

FileRefused
├── VersionChanged    it has another version than the one that was seen
├── WorkspaceFull     the conversation, or the tenant, has as much as it may have
├── NoSuchFile        there is none of this path or id
├── NoSuchConversation  it was deleted meanwhile
└── FilesBusy         others write; whether it fits cannot be decided now
"""


class FileRefused(Exception):
    """Nothing was changed; the message says why, for models and people."""


class VersionChanged(FileRefused):
    """It has another version than the one that was seen."""

    def __init__(self, version: int):
        now = f"it has version {version} now" if version else "there is no such file now"
        super().__init__(f"The file was changed since it was read: {now}. Read it again, then make the change.")


class WorkspaceFull(FileRefused):
    """The conversation, or the tenant, has as much as it may have."""


class NoSuchFile(FileRefused):
    """There is none of this path or id."""


class NoSuchConversation(FileRefused):
    """It was deleted meanwhile."""

    def __init__(self) -> None:
        super().__init__("There is no such conversation any more, so there are no files of it.")


class FilesBusy(FileRefused):
    """Others write; whether it fits cannot be decided now."""

    def __init__(self) -> None:
        super().__init__("Other files of the tenant are being written, so this one was not. Try again in some seconds.")
