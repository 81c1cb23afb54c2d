"""Why a request is refused before any model is asked, as one tree.

Refused                     the answer's HTTP status, code and words
├── ContentTooLarge         413 content_too_large
├── NoSuchConversation      404 not_found
├── NoSuchAgent             404 unknown_agent
├── NoSuchVersion           404 not_found
├── InvalidAgent            400 invalid_agent
├── AgentSlugTaken          409 slug_taken
├── AgentChanged            409 agent_changed
├── DefaultAgent            409 default_agent
├── NoSuchModel             404 unknown_model
├── NoSuchRun               404 not_found
├── RunNotOver              409 run_not_over
├── NoSuchResponse          404 not_found
├── ShadowsManagedTool      400 shadows_managed_tool
├── ConversationBusy        409 conversation_busy
├── NoSuchSubject           404 not_found
├── NotAnEraser             403 not_an_owner
├── StillOpen               409 still_open
├── IdempotencyMismatch     422 idempotency_mismatch
├── InvalidRequest          400 invalid_request
├── AttachmentRefused       400 attachment_refused
├── TooManySearches         429 rate_limited
├── BudgetRefusal           of gateway.budgets.errors: 402, 429 budget_exhausted, 403 model_unpriced
└── Unavailable             503 unavailable
    └── Leaving
"""

from typing import Any

from tenants.errors import Refused
from tools.invocation.errors import IdempotencyMismatch as IdempotencyMismatch


class InvalidRequest(Refused):
    """The request's body or parameters make no sense; `field` names the one at fault."""


class AttachmentRefused(Refused):
    """A file that the message refers to is not there, or the model does not take it; nothing was begun."""

    code = "attachment_refused"


class ContentTooLarge(Refused):
    """The request is larger than what is taken."""

    status = 413
    code = "content_too_large"


class NoSuchConversation(Refused):
    """There is no such conversation of this user's."""

    status = 404
    code = "not_found"

    def __init__(self, conversation_id: object):
        super().__init__(f"There is no conversation {conversation_id} of yours.", "conversation_id")


class NoSuchAgent(Refused):
    """The tenant has no such agent, or no default one."""

    status = 404
    code = "unknown_agent"

    def __init__(self, slug: str | None):
        named = f"no agent {slug[:100]!r}" if slug else "no default agent"
        super().__init__(f"Your tenant has {named}.", "agent")


class NoSuchVersion(Refused):
    """The agent has no version of that number."""

    status = 404
    code = "not_found"

    def __init__(self, slug: str, number: int):
        super().__init__(f"The agent {slug} has no version {number}.", "version")


class InvalidAgent(Refused):
    """What was sent makes no agent."""

    code = "invalid_agent"


class AgentSlugTaken(Refused):
    """The tenant has an agent of that slug, or has archived one."""

    status = 409
    code = "slug_taken"

    def __init__(self, slug: str, archived: bool):
        kept = ", which is archived: rules and the record name it" if archived else ""
        super().__init__(f"There is an agent {slug} already{kept}. Change that one, or choose another slug.", "slug")


class AgentChanged(Refused):
    """Somebody has changed the agent since the version that the request is about; `agent` is what it is now."""

    status = 409
    code = "agent_changed"

    def __init__(self, version: int, agent: dict[str, Any]):
        super().__init__(
            f"The agent was changed meanwhile: it has the version {version} now. Nothing was saved. Look at it as it "
            "is, and send your change again with that version.",
            "version",
        )
        self.more = {"agent": agent}


class DefaultAgent(Refused):
    """The tenant's default agent answers whoever names none, so it is not archived and stays the default one."""

    status = 409
    code = "default_agent"

    def __init__(self) -> None:
        super().__init__(
            "This is the tenant's default agent, which answers whoever names no other. Make another one the default "
            "first: an owner does that (is_default, or /settings/agents/)."
        )


class NoSuchModel(Refused):
    """No configured provider has the model."""

    status = 404
    code = "unknown_model"

    def __init__(self, detail: str):
        super().__init__(detail, "model")


class NoSuchRun(Refused):
    """There is no such run of this user's."""

    status = 404
    code = "not_found"

    def __init__(self, run_id: object):
        super().__init__(f"There is no run {run_id} of yours.")


class RunNotOver(Refused):
    """The run goes on, or waits for a human: there is no whole record of it yet. `later` is what can be done then."""

    status = 409
    code = "run_not_over"

    def __init__(self, run_id: object, status: str, later: str = "Its replay can be read once it is."):
        super().__init__(f"The run {run_id} is not over: it is {status}. {later}")


class NoSuchResponse(Refused):
    """There is no such response of this user's to go on from, or to refer to."""

    status = 404
    code = "not_found"

    def __init__(self, response_id: str, field: str = "previous_response_id"):
        super().__init__(f"There is no response {response_id[:100]!a} of yours.", field)


class ShadowsManagedTool(Refused):
    """A client's tool has the name of a tool that Toolgate adds."""

    code = "shadows_managed_tool"

    def __init__(self, name: str, field: str):
        super().__init__(
            f"The tool {name[:100]!a} has the name of a tool that Toolgate adds for you. Rename yours, or ask for "
            "an agent without it.",
            field,
        )


class ConversationBusy(Refused):
    """A run of this conversation is still open."""

    status = 409
    code = "conversation_busy"

    def __init__(self) -> None:
        super().__init__("A run of this conversation is still open; wait for its end or cancel it.")


class NoSuchSubject(Refused):
    """There is nothing to erase by this id, or nothing that the asker may see."""

    status = 404
    code = "not_found"

    def __init__(self, scope: str, subject_id: object):
        super().__init__(f"There is no {scope} {subject_id}.", scope)


class NotAnEraser(Refused):
    """Only an owner erases what was done in other people's names."""

    status = 403
    code = "not_an_owner"

    def __init__(self) -> None:
        super().__init__(
            "Only an owner of this tenant, with the scope admin, erases what was done in other people's names."
        )


class StillOpen(Refused):
    """What is still under way cannot be erased."""

    status = 409
    code = "still_open"


class TooManySearches(Refused):
    """Searches of the person, of their tenant, or of everybody take all the places that there are for them."""

    status = 429
    code = "rate_limited"
    retry_after = 2

    def __init__(self, most: int) -> None:
        super().__init__(
            f"Too many searches run at once, of yours (up to {most}) or of others. Try again in {self.retry_after} "
            "seconds."
        )
        self._most = most

    @property
    def headers(self) -> dict[str, str]:
        """With the limit, which is of searches at a time."""
        state = f'"searches";r=0;t={self.retry_after}'
        policy = f'"searches";q={self._most};qu="concurrent-requests"'
        return super().headers | {"RateLimit-Policy": policy, "RateLimit": state}


class Unavailable(Refused):
    """The database is away for the moment; nothing was begun, or the idempotency key tells what was."""

    status = 503
    code = "unavailable"
    retry_after = 2

    def __init__(self, why: str = "Toolgate cannot reach its database for the moment.") -> None:
        super().__init__(f"{why} Try again in a few seconds.")


class Leaving(Unavailable):
    """This process is being stopped; what it was doing goes on elsewhere."""

    def __init__(self) -> None:
        super().__init__("This process of Toolgate is being stopped; a run that was begun goes on without it.")
