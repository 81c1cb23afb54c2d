"""What people are refused about what models keep for them.

Refused
├── ChangedMeanwhile    somebody, or a model, changed the row since it was read
├── SharedMemory        it is the whole tenant's, and another's to delete
├── FilesFull           the conversation's files, or the tenant's, would be too large
├── FilesAway           whether a file fits could not be decided
├── FileTooLarge        the file is larger than an upload may be
├── NoSuchCanvas        the link shows nothing that is there for its user
├── CanvasLinkExpired   the link was good, and is too old
└── NotInAFrame         the link was opened in a window of its own
"""

from tenants.errors import Refused


class ChangedMeanwhile(Refused):
    """The row is another one than the one that was read."""

    status = 409
    code = "changed_meanwhile"

    def __init__(self) -> None:
        super().__init__(
            "It was changed since you read it, by a model or in another window. Read it again, then make your change."
        )


class SharedMemory(Refused):
    """The memory is for everybody in the tenant, and the caller neither stored it nor is an owner."""

    status = 403
    code = "forbidden"

    def __init__(self, author: str | None) -> None:
        who = f"{author}, who stored it, or an owner" if author else "An owner"
        super().__init__(f"This is remembered for everybody in the tenant. {who} of the tenant can delete it.")


class FilesFull(Refused):
    """The conversation's files, or the tenant's, would be larger than they may be."""

    status = 409
    code = "files_full"


class FilesAway(Refused):
    """Whether a file fits could not be decided; nothing was changed."""

    status = 503
    code = "unavailable"
    retry_after = 5


class FileTooLarge(Refused):
    """The file is larger than an upload may be."""

    status = 413
    code = "content_too_large"

    def __init__(self, most: int) -> None:
        super().__init__(f"A file may have up to {most:,} bytes; the operator sets the limit.")


class NoSuchCanvas(Refused):
    """No link, or its version is gone, or its user is no member any more."""

    status = 404
    code = "not_found"

    def __init__(self) -> None:
        super().__init__("There is nothing to show here. Open the conversation to see its canvas.")


class CanvasLinkExpired(Refused):
    """The link was good, and is too old."""

    status = 410
    code = "canvas_link_expired"

    def __init__(self) -> None:
        super().__init__(
            "This view is over. Open the conversation again, or choose another version, to see its canvas."
        )


class NotInAFrame(Refused):
    """The link was opened in a window of its own, or by a browser that does not say what it asks for."""

    status = 403
    code = "not_in_a_frame"

    def __init__(self) -> None:
        super().__init__(
            "A canvas is shown beside its conversation alone: open that. It needs HTTPS (or localhost), and a browser "
            "that says where it shows a page (Chrome 80, Firefox 90, Safari 16.4 or newer)."
        )
