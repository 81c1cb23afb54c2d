"""What can go wrong inside a tool, as one tree.

ToolError
├── ToolValidationError   the arguments are wrong; the model may try again        validation_error
├── ToolExecutionError    the tool ran and failed; trying again would not help     execution_error
│   └── ToolCallRejected  its remote is well, and rejected this call               execution_error
├── ToolUnavailable       what the call needs cannot be had now; nothing was called  unavailable
├── ToolPermissionDenied  this call may not do that; never tried again             permission_denied
└── ToolTimeout           it took too long; may be tried again after a pause       timeout

A tool raises these and nothing else. Their `message` is written for the model and the user:
it never holds a credential, an internal address or a traceback.
"""


class ToolError(Exception):
    """A tool's own answer that the call failed; it becomes the call's recorded error."""

    code = "execution_error"

    def __init__(self, message: str):
        super().__init__(message)
        self.message = message


class ToolValidationError(ToolError):
    """The arguments passed the schema but are still wrong; `field` names the one at fault."""

    code = "validation_error"

    def __init__(self, message: str, field: str | None = None):
        super().__init__(message)
        self.field = field


class ToolExecutionError(ToolError):
    """The tool ran and failed, and running it again would fail the same way."""

    code = "execution_error"


class ToolCallRejected(ToolExecutionError):
    """The remote answered, and rejected what it was asked: this says nothing about other calls."""


class ToolUnavailable(ToolError):
    """What the call needs first cannot be had at the moment: nothing was called."""

    code = "unavailable"


class ToolPermissionDenied(ToolError):
    """The call lacks a handle or a right that the tool needs."""

    code = "permission_denied"


class ToolTimeout(ToolError):
    """The tool, or the remote it waited for, did not answer within `elapsed` seconds."""

    code = "timeout"

    def __init__(self, message: str, elapsed: float):
        super().__init__(message)
        self.elapsed = elapsed
