import asyncio
import contextlib
import datetime
import email
import logging
import ssl
import uuid
from email import policy
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.conf import settings
from django.test import override_settings

from tests.smtp import MailServer
from tests.stack import free_port
from tests.tools.context import context
from tests.waiting import PATIENCE_SECONDS
from tools.builtin.messages.send_email import SendEmail
from tools.errors import ToolExecutionError, ToolTimeout, ToolValidationError
from tools.interface import Artifact
from tools.network import mail
from tools.schemas.schema import check

CALL = uuid.UUID("01234567-89ab-7def-8123-456789abcdef")
MAIL = {"to": "bob@example.com", "subject": "Grüße", "body": "Hello Bob,\n\n.\nFrom here.\n"}
PASSWORD = "mail-password-of-the-operator"


@contextlib.contextmanager
def mail_server(tls=None, **more):
    with (
        MailServer(tls) as server,
        override_settings(**server.settings, DEFAULT_FROM_EMAIL="Toolgate <gate@corp.example>", **more),
    ):
        yield server


async def send(seconds=PATIENCE_SECONDS, **changed):
    return await SendEmail().execute(MAIL | changed, context(call_id=CALL, seconds=seconds))


async def test_an_email_is_sent_as_it_was_approved():
    with mail_server() as server:
        result = await send()
        [(sender, recipients, message)] = server.received
    assert (sender, recipients) == ("gate@corp.example", ["bob@example.com"])
    assert (message["To"], message["From"]) == ("bob@example.com", "Toolgate <gate@corp.example>")
    assert message["Subject"] == "Grüße"
    assert message.get_content_type() == "text/plain"
    assert message.get_content() == MAIL["body"]
    assert result.output == {"message_id": f"<{CALL}@corp.example>", "to": "bob@example.com"}
    assert message["Message-ID"] == result.output["message_id"]
    assert result.display == "E-mail sent to bob@example.com"
    assert result.artifacts == (Artifact("email", f"<{CALL}@corp.example>", "sent"),)


async def test_without_a_mail_server_it_goes_to_a_mailbox_that_only_the_owner_reads(tmp_path):
    folder = tmp_path / "data" / "mail"
    assert settings.EMAIL_BACKEND == "tools.network.mailbox.Mailbox"
    assert Path(settings.EMAIL_FILE_PATH) == Path(settings.TOOLGATE_DATA_DIR) / "mail"
    with override_settings(EMAIL_FILE_PATH=folder):
        result = await send()
    [file] = folder.iterdir()
    message = email.message_from_bytes(file.read_bytes(), policy=policy.default)
    assert (message["To"], message["Message-ID"]) == ("bob@example.com", result.output["message_id"])
    assert folder.stat().st_mode & 0o777 == 0o700


async def test_a_mailbox_that_cannot_be_used_is_the_operators_affair(tmp_path):
    (tmp_path / "mail").touch()
    with override_settings(EMAIL_FILE_PATH=tmp_path / "mail"), pytest.raises(ToolExecutionError) as caught:
        await send()
    assert "was not sent" in caught.value.message
    assert str(tmp_path) not in caught.value.message


async def test_it_logs_in_as_the_operator_configured():
    with mail_server(EMAIL_HOST_USER="gate", EMAIL_HOST_PASSWORD=PASSWORD) as server:
        await send()
    assert server.verbs[:4] == ["CONNECT", "EHLO", "AUTH", "MAIL"]


async def test_the_time_that_the_tool_is_given_ends_it():
    with mail_server() as server:
        server.hang = "CONNECT"
        with pytest.raises(ToolTimeout, match=r"did not answer within 0\.2 seconds; the e-mail was not sent"):
            await send(seconds=0.7)
    assert server.received == []


async def test_an_email_that_is_kept_is_sent_even_if_the_server_never_says_goodbye():
    with mail_server() as server:
        server.hang = "QUIT"
        result = await send()
        assert len(server.received) == 1
    assert result.display == "E-mail sent to bob@example.com"


@pytest.mark.parametrize(
    ("verb", "said", "kind", "words"),
    [
        ("CONNECT", "554 go away", ToolExecutionError, "refused to talk (SMTP 554); the e-mail was not sent"),
        ("AUTH", "535 no", ToolExecutionError, "refused the configured account (SMTP 535); the e-mail was not sent"),
        ("MAIL", "550 no", ToolExecutionError, "not take the configured sender (SMTP 550); the e-mail was not sent"),
        ("RCPT", "550 no", ToolValidationError, "not take the recipient (SMTP 550); the e-mail was not sent"),
        ("RCPT", "450 later", ToolExecutionError, "not take the recipient (SMTP 450); the e-mail was not sent"),
        ("DATA", "451 later", ToolExecutionError, "refused the e-mail (SMTP 451); the e-mail was not sent"),
        (".", "554 spam", ToolExecutionError, "refused the e-mail (SMTP 554); the e-mail was not sent"),
    ],
)
async def test_a_refusal_is_told_by_its_code(verb, said, kind, words):
    with mail_server(EMAIL_HOST_USER="gate", EMAIL_HOST_PASSWORD=PASSWORD) as server:
        server.refuse[verb] = f"{said} said mail7.internal.corp"
        with pytest.raises(kind) as caught:
            await send()
    assert words in caught.value.message
    assert getattr(caught.value, "field", None) == ("to" if kind is ToolValidationError else None)
    assert not any(secret in caught.value.message for secret in ("internal", PASSWORD, "127.0.0.1", "bob"))


@pytest.fixture
def time_is_over(monkeypatch):
    """`time_is_over()` lets the time of the e-mail that is being sent run out now."""
    limits = []
    unlimited = asyncio.timeout

    def timeout(seconds):
        limits.append(unlimited(seconds))
        return limits[-1]

    monkeypatch.setattr(mail, "asyncio", SimpleNamespace(**vars(asyncio) | {"timeout": timeout}))
    return lambda: limits[-1].reschedule(asyncio.get_running_loop().time())


async def test_a_server_that_hangs_before_the_email_ends_and_nothing_is_sent(time_is_over):
    with mail_server() as server:
        server.hang = "CONNECT"
        sending = asyncio.create_task(send(seconds=60.5))
        assert await asyncio.to_thread(server.reached.wait, PATIENCE_SECONDS)
        time_is_over()
        with pytest.raises(ToolTimeout) as caught:
            await sending
        server.released.set()
        assert await asyncio.to_thread(server.left.wait, PATIENCE_SECONDS)
    assert caught.value.message == "The mail server did not answer within 60.0 seconds; the e-mail was not sent."
    assert server.received == []
    assert "MAIL" not in server.verbs


async def test_a_server_that_hangs_with_the_email_leaves_it_open_whether_it_was_sent(time_is_over):
    with mail_server() as server:
        server.hang = "."
        sending = asyncio.create_task(send())
        assert await asyncio.to_thread(server.reached.wait, PATIENCE_SECONDS)
        time_is_over()
        with pytest.raises(ToolTimeout) as caught:
            await sending
        assert len(server.received) == 1
    assert "may or may not have been sent" in caught.value.message


async def test_an_email_that_was_given_up_before_it_left_never_leaves():
    with mail_server() as server:
        server.hang = "CONNECT"
        sending = asyncio.create_task(send())
        assert await asyncio.to_thread(server.reached.wait, PATIENCE_SECONDS)
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        server.released.set()
        assert await asyncio.to_thread(server.left.wait, PATIENCE_SECONDS)
    assert server.received == []
    assert server.verbs == ["CONNECT", "QUIT"]


@pytest.mark.parametrize(("verb", "kept"), [("DATA", 0), (".", 1)])
async def test_a_server_that_hangs_up_leaves_it_open_whether_it_was_sent(verb, kept):
    with mail_server() as server:
        server.cut = verb
        with pytest.raises(ToolExecutionError) as caught:
            await send()
        assert len(server.received) == kept
    assert caught.value.message == "The mail server cut the connection; the e-mail may or may not have been sent."


async def test_where_nobody_listens_nothing_is_sent():
    with mail_server() as server:
        gone = server.settings | {"EMAIL_PORT": free_port()}
    with override_settings(**gone), pytest.raises(ToolExecutionError) as caught:
        await send()
    assert caught.value.message == (
        "The mail server could not be reached; the e-mail was not sent. The operator must check it."
    )


async def test_no_password_goes_to_a_server_without_encryption_when_it_is_asked_for():
    asked = mail_server(EMAIL_USE_TLS=True, EMAIL_HOST_USER="gate", EMAIL_HOST_PASSWORD=PASSWORD)
    with asked as server, pytest.raises(ToolExecutionError, match="does not offer the encryption"):
        await send()
    assert "AUTH" not in server.verbs


async def test_no_password_goes_to_a_server_that_cannot_prove_who_it_is(tmp_path):
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(self_signed(tmp_path))
    asked = mail_server(tls, EMAIL_USE_TLS=True, EMAIL_HOST_USER="gate", EMAIL_HOST_PASSWORD=PASSWORD)
    with asked as server, pytest.raises(ToolExecutionError, match="trusted encrypted connection"):
        await send()
    assert server.verbs == ["CONNECT", "EHLO", "STARTTLS"]


def self_signed(folder):
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(1)
        .not_valid_before(now - datetime.timedelta(1)).not_valid_after(now + datetime.timedelta(1))
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "pair.pem").write_bytes(private + certificate.public_bytes(pem))
    return folder / "pair.pem"


@pytest.mark.parametrize("to", ["=?utf-8?q?ceo?=@example.com", "böb@example.com", "a(b)@x.com", "bob@x..com"])
async def test_an_address_that_mail_software_reads_otherwise_is_refused(to):
    with mail_server() as server:
        with pytest.raises(ToolValidationError) as caught:
            await send(to=to)
        assert server.verbs == []
    assert caught.value.field == "to"
    assert check(SendEmail.parameters, MAIL | {"to": to}).field == "to"


async def test_nothing_that_the_schema_takes_forges_a_header():
    subject = "a: b; Bcc: eve@example.com =?utf-8?q?=0ABcc:_eve?= " + "x" * 400
    assert check(SendEmail.parameters, MAIL | {"subject": subject}) is None
    with mail_server() as server:
        await send(subject=subject, body="\nBcc: eve@example.com\n\n.\n" + "y" * 3000)
        [(_, recipients, message)] = server.received
    assert recipients == ["bob@example.com"]
    assert sorted(name.lower() for name in message) == [
        "content-transfer-encoding", "content-type", "date", "from", "message-id", "mime-version", "subject", "to",
    ]  # fmt: skip
    assert message.get_content() == "\nBcc: eve@example.com\n\n.\n" + "y" * 3000 + "\n"


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({}, None),
        ({"body": ""}, None),
        ({"body": "x" * 100_000}, None),
        ({"body": "x" * 100_001}, "body"),
        ({"subject": ""}, "subject"),
        ({"subject": "a\nBcc: eve@example.com"}, "subject"),
        ({"subject": "a\r\nBcc: eve@example.com"}, "subject"),
        ({"subject": "a\tb"}, "subject"),
        ({"subject": "a\u2028b"}, "subject"),
        ({"subject": "a\n"}, "subject"),
        ({"subject": "x" * 501}, "subject"),
        ({"to": "Bob <bob@example.com>"}, "to"),
        ({"to": "bob@example.com, eve@example.com"}, "to"),
        ({"to": "bob@example.com\nBcc: eve@example.com"}, "to"),
        ({"to": "bob@example.com\n"}, "to"),
        ({"to": "bob"}, "to"),
        ({"to": ""}, "to"),
        ({"to": "bob@" + "x." * 130 + "com"}, "to"),
        ({"to": ["bob@example.com"]}, "to"),
        ({"cc": "eve@example.com"}, "cc"),
    ],
)
def test_what_the_schema_takes(changed, field):
    found = check(SendEmail.parameters, MAIL | changed)
    assert (found and found.field) == field


async def test_no_secret_is_logged(caplog):
    caplog.set_level(logging.DEBUG)
    with mail_server(EMAIL_HOST_USER="gate", EMAIL_HOST_PASSWORD=PASSWORD) as server:
        server.refuse["AUTH"] = f"535 {PASSWORD}"
        with pytest.raises(ToolExecutionError):
            await send()
    assert PASSWORD not in caplog.text
