"""A mail server on a real socket: it keeps what it is sent, and answers, refuses, hangs or cuts as it is told."""

import socketserver
import ssl
import threading
from contextlib import suppress
from email import message_from_bytes, policy
from email.message import EmailMessage
from types import TracebackType
from typing import Any, NamedTuple, Self


class Received(NamedTuple):
    """An e-mail as it came: the envelope and the message."""

    sender: str
    recipients: list[str]
    message: EmailMessage


class MailServer:
    """`with MailServer() as server:`; it can refuse a verb, hang at it until it is released, or cut the connection.

    Beside the verbs there are "CONNECT" and "." (the end of a message, which is kept all the same). `left` is set when
    a client has gone.
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.received: list[Received] = []
        self.verbs: list[str] = []
        self.refuse: dict[str, str] = {}
        self.hang = self.cut = ""
        self.reached = threading.Event()
        self.released = threading.Event()
        self.left = threading.Event()
        server = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                with suppress(OSError):
                    server._talk(self, tls)
                server.left.set()

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self.port = int(self._server.server_address[1])
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def settings(self) -> dict[str, Any]:
        """Django's settings for this server."""
        backend = "django.core.mail.backends.smtp.EmailBackend"
        return {"EMAIL_BACKEND": backend, "EMAIL_HOST": "127.0.0.1", "EMAIL_PORT": self.port}

    def _talk(self, client: Any, tls: ssl.SSLContext | None) -> None:
        # Of this connection: others append to `verbs` at the same time.
        last = ""

        def answer(verb: str, text: str) -> bool:
            nonlocal last
            last = verb
            self.verbs.append(verb)
            if verb == self.hang:
                self.reached.set()
                self.released.wait()
            if verb == self.cut:
                return False
            said = self.refuse.get(verb, text)
            client.wfile.write(f"{said}\r\n".encode())
            return said[0] in "23"

        sender, recipients = "", []
        if not answer("CONNECT", "220 ready"):
            return
        while last not in (self.cut, "QUIT") and (line := client.rfile.readline().decode().strip()):
            verb, _, rest = line.partition(" ")
            verb = verb.upper()
            if verb == "EHLO":
                extras = "250-STARTTLS\r\n" if tls else ""
                answer(verb, f"250-here\r\n{extras}250-AUTH PLAIN\r\n250 8BITMIME")
            elif verb == "STARTTLS" and tls:
                answer(verb, "220 go on")
                client.request = tls.wrap_socket(client.request, server_side=True)
                client.rfile, client.wfile = client.request.makefile("rb"), client.request.makefile("wb", 0)
            elif verb == "MAIL":
                sender = rest.partition("<")[2].partition(">")[0]
                answer(verb, "250 fine")
            elif verb == "RCPT":
                recipients.append(rest.partition("<")[2].partition(">")[0])
                answer(verb, "250 fine")
            elif verb == "DATA" and answer(verb, "354 go on"):
                text = b""
                while (part := client.rfile.readline()) not in (b".\r\n", b""):
                    text += part[1:] if part.startswith(b".") else part
                message = message_from_bytes(text.replace(b"\r\n", b"\n"), policy=policy.default)
                self.received.append(Received(sender, recipients, message))  # type: ignore[arg-type]
                answer(".", "250 kept")
            elif verb != "DATA":
                answer(verb, {"QUIT": "221 bye", "AUTH": "235 fine"}.get(verb, "250 fine"))
