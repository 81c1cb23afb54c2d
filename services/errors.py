"""Why a change of a service is refused, as one tree. Nothing has changed when one of these is raised.

Refused                     the answer's HTTP status, code and words
├── NoSuchService           404 not_found
├── InvalidService          400 invalid_service
├── SlugTaken               409 slug_taken
├── OtherDefinition         409 definition_changed
├── FeedsChanged            409 feeds_changed
├── SourceFailed            502 source_failed
│   └── AnswersEvents       the same, of an address that answers with a stream of events
└── NothingFound            400 nothing_found
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


class FeedsChanged(Refused):
    """The feeds are not those that the form was made of."""

    status = 409
    code = "feeds_changed"

    def __init__(self) -> None:
        super().__init__(
            "Another owner has changed the feeds meanwhile. Nothing was saved: look at them again.", "feeds"
        )


class SourceFailed(Refused):
    """The address of a descriptor or document did not answer with one."""

    status = 502
    code = "source_failed"


class AnswersEvents(SourceFailed):
    """The address answered with a stream of events, which is no document."""

    def __init__(self, field: str):
        super().__init__("The address answered with a stream of events, which is no document.", field)


class NothingFound(Refused):
    """An address, or a text, is nothing that offers tools."""

    code = "nothing_found"

    def __init__(self, words: str):
        super().__init__(words, "url")
