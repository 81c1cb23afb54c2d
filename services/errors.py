"""Why a change of a service is refused, as one tree. Nothing has changed when one of these is raised.

Refused                     the answer's HTTP status, code and words
├── NoSuchService           404 not_found
├── InvalidService          400 invalid_service
│   └── NotBuilt            400 not_supported
├── SlugTaken               409 slug_taken
├── OtherDefinition         409 definition_changed
└── SourceFailed            502 source_failed
"""

from tenants.errors import Refused


class NoSuchService(Refused):
    """The tenant has no such service or tool."""

    status = 404
    code = "not_found"

    def __init__(self, what: str = "service"):
        super().__init__(f"There is no such {what}.")


class InvalidService(Refused):
    """What was sent makes no service, or what the service offers cannot be used."""

    code = "invalid_service"


class NotBuilt(InvalidService):
    """A kind of service, or of credential, that this version of Toolgate does not have."""

    code = "not_supported"


class SlugTaken(Refused):
    """The tenant has a service of that slug."""

    status = 409
    code = "slug_taken"

    def __init__(self, slug: str):
        super().__init__(f"There is a service {slug} already. Change that one, or choose another slug.", "slug")


class OtherDefinition(Refused):
    """The tool is not as it was when it was looked at."""

    status = 409
    code = "definition_changed"

    def __init__(self, present: str):
        super().__init__(
            "This hash is not that of the tool as it is now. Look at the tool again, and accept what you have read.",
            "hash",
        )
        self.more = {"hash": present}


class SourceFailed(Refused):
    """The address of a descriptor or document did not answer with one."""

    status = 502
    code = "source_failed"
