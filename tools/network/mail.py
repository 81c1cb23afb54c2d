"""Hands one e-mail to the operator's mail server, off the event loop and within a time.

connect, log in │ MAIL, RCPT, DATA │ QUIT
not sent        │ perhaps sent     │ sent: nobody waits for it
"""

import asyncio
import re
import smtplib
import ssl
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from email.utils import parseaddr
from threading import Lock
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.core.mail import EmailMessage, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.core.mail.message import sanitize_address
from django.core.validators import validate_email

from tools.errors import ToolError, ToolExecutionError, ToolTimeout, ToolValidationError

# Our own: a mail server that hangs keeps these, and nobody else's.
_THREADS = ThreadPoolExecutor(16, thread_name_prefix="mail")
_UNKNOWN = "the e-mail may or may not have been sent"
_NOT_SENT = "the e-mail was not sent"


# Without what mail software reads in another way than a human does: other scripts, comments, "=?…?=".
ADDRESS = r"^[A-Za-z0-9.!#$%&'*+/=^_{|}~-]+@[A-Za-z0-9.-]+$"
MAX_ADDRESS = 254


def is_plain_address(text: str) -> bool:
    """Whether the text is one address of e-mail, which mail software sends to as it is written."""
    try:
        validate_email(text)
        return len(text) <= MAX_ADDRESS and bool(re.match(ADDRESS, text)) and sanitize_address(text, "utf-8") == text
    except (ValidationError, ValueError):
        return False


def message_id(of: UUID) -> str:
    """The Message-ID of what is sent for a call or notification, so that an e-mail leads back to it."""
    return f"<{of}@{parseaddr(settings.DEFAULT_FROM_EMAIL)[1].rpartition('@')[2]}>"


async def send(message: EmailMessage, seconds: float) -> None:
    """Send a message to its one recipient. Raises, with words that hold no address and no credential:

    ToolTimeout after so many seconds, ToolValidationError when the server does not take the recipient, and
    ToolExecutionError for all else; each says whether the e-mail may have been sent.
    """
    attempt = _Attempt()
    try:
        async with asyncio.timeout(seconds):
            await asyncio.get_running_loop().run_in_executor(_THREADS, _send, message, seconds, attempt)
    except TimeoutError:
        state = _NOT_SENT if attempt.abandon() else _UNKNOWN
        raise ToolTimeout(f"The mail server did not answer within {seconds:.1f} seconds; {state}.", seconds) from None
    except asyncio.CancelledError:
        attempt.abandon()
        raise


class _Attempt:
    """Whether the message may still leave: who gives up before it did can be sure that it never will."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._left = self._abandoned = False

    def may_leave(self) -> bool:
        with self._lock:
            self._left = not self._abandoned
            return self._left

    def abandon(self) -> bool:
        """True when nothing has left, and nothing will."""
        with self._lock:
            self._abandoned = True
            return not self._left


def _send(message: EmailMessage, seconds: float, attempt: _Attempt) -> None:
    try:
        # The time of each answer; all of them together are the caller's affair.
        server: BaseEmailBackend = get_connection(timeout=seconds)
        server.open()
    except (OSError, ImproperlyConfigured) as error:
        raise _unreached(error) from None
    try:
        if attempt.may_leave():
            server.send_messages([message])
    except OSError as error:
        raise _refused(error) from None
    finally:
        _THREADS.submit(_close, server)


def _close(server: BaseEmailBackend) -> None:
    with suppress(Exception):
        server.close()


def _unreached(error: Exception) -> ToolError:
    match error:
        case smtplib.SMTPAuthenticationError():
            words = f"The mail server refused the configured account (SMTP {error.smtp_code})"
        case smtplib.SMTPNotSupportedError():
            words = "The mail server does not offer the encryption or the log-in that is configured"
        case ssl.SSLError():
            words = "The mail server could not be reached over a trusted encrypted connection"
        case smtplib.SMTPResponseException():
            words = f"The mail server refused to talk (SMTP {error.smtp_code})"
        case ImproperlyConfigured():
            words = "The mailbox cannot be used"
        case _:
            words = "The mail server could not be reached"
    return ToolExecutionError(f"{words}; {_NOT_SENT}. The operator must check it.")


def _refused(error: OSError) -> ToolError:
    match error:
        case smtplib.SMTPRecipientsRefused():
            [(code, _)] = error.recipients.values()
            words = f"The mail server does not take the recipient (SMTP {code}); {_NOT_SENT}."
            return ToolValidationError(words, "to") if 500 <= code < 600 else ToolExecutionError(words)
        case smtplib.SMTPSenderRefused():
            words = f"The mail server does not take the configured sender (SMTP {error.smtp_code}); {_NOT_SENT}"
        case smtplib.SMTPResponseException():
            words = f"The mail server refused the e-mail (SMTP {error.smtp_code}); {_NOT_SENT}"
        case _:
            words = f"The mail server cut the connection; {_UNKNOWN}"
    return ToolExecutionError(f"{words}.")
