"""What the tests lean on does what they take for granted."""

import smtplib
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from tests import waiting
from tests.smtp import MailServer
from tests.stack import free_port


@contextmanager
def _client(server: MailServer) -> Iterator[smtplib.SMTP]:
    connection = smtplib.SMTP("127.0.0.1", server.port, timeout=waiting.PATIENCE_SECONDS)
    connection.ehlo()
    yield connection
    connection.close()


def test_a_client_of_the_mail_server_that_says_goodbye_ends_nobody_elses_conversation() -> None:
    with MailServer() as server, _client(server) as first, _client(server) as second:
        server.hang = "MAIL"
        first.putcmd("MAIL", "FROM:<gate@example.com>")
        assert server.reached.wait(waiting.PATIENCE_SECONDS)
        assert second.quit()[0] == 221
        server.released.set()
        assert first.getreply()[0] == 250
        assert first.rcpt("bob@example.com")[0] == 250
        assert first.data("Subject: Hello\n\nHi Bob")[0] == 250
        assert [received.recipients for received in server.received] == [["bob@example.com"]]


def test_a_free_port_stays_free_for_whoever_asked_for_it() -> None:
    port = free_port()
    # Nobody else is given it by the kernel, and nobody takes it without SO_REUSEADDR.
    with socket.socket() as other, pytest.raises(OSError):
        other.bind(("127.0.0.1", port))
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("127.0.0.1", port))
        server.listen()
        with socket.create_connection(("127.0.0.1", port)):
            pass
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


def test_a_request_without_a_time_limit_of_its_own_is_waited_for() -> None:
    with httpx.Client() as client:
        assert client.timeout == httpx.Timeout(waiting.PATIENCE_SECONDS)


def test_waiting_ends_with_what_was_found_or_with_words(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([[], [], ["row"]])
    assert waiting.until(lambda: next(answers)) == ["row"]
    monkeypatch.setattr(waiting, "PATIENCE_SECONDS", 0.0)
    with pytest.raises(TimeoutError, match=r"nothing after 0 s; the log"):
        waiting.until(lambda: False, lambda: "the log")
