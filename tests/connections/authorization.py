"""The authorization server of these tests, and a person who says yes on its pages, without a browser."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest

from tests.stack import free_port

HERE = Path(__file__).resolve().parent
NODE_MODULES = HERE.parents[1] / ".venv" / "node" / "node_modules"
HOST = "127.0.0.2"
CLIENT = {"client_id": "toolgate", "client_secret": "a secret: with/odd&characters"}
MACHINE = {"client_id": "machine", "client_secret": "machine-secret"}
_FORM = re.compile(r'<form[^>]*action="([^"]+)"[^>]*>(.*?)</form>', re.DOTALL)
_HIDDEN = re.compile(r'<input[^>]*type="hidden"[^>]*name="([^"]+)"[^>]*value="([^"]*)"')


class AuthorizationServer:
    """`oidc-provider`, as it runs."""

    def __init__(self, issuer: str):
        self.issuer = issuer

    def control(self, **values: int) -> dict[str, Any]:
        """Set how long access tokens last (`access`, seconds) or how long it thinks (`delay`, ms); what it counted."""
        answer = httpx.get(f"{self.issuer}/control", params=values)
        counted: dict[str, Any] = answer.json()
        return counted

    def knows(self, token: str) -> bool:
        """Whether a token is good, as it says itself."""
        client = CLIENT["client_id"], "a%20secret%3A%20with%2Fodd%26characters"
        answer = httpx.post(f"{self.issuer}/token/introspection", data={"token": token}, auth=client)
        assert answer.status_code == 200, answer.text
        return bool(answer.json()["active"])

    def revoke(self, token: str) -> None:
        """End a token here, as its user or an administrator would."""
        client = CLIENT["client_id"], "a%20secret%3A%20with%2Fodd%26characters"
        answer = httpx.post(f"{self.issuer}/token/revocation", data={"token": token}, auth=client)
        assert answer.status_code == 200, answer.text

    def end(self, token: str, *, whole: bool = False) -> None:
        """End an access token, whoever has it; the `whole` grant with its refresh token."""
        asked = {"token": token} | ({"all": "1"} if whole else {})
        assert httpx.get(f"{self.issuer}/end", params=asked).status_code == 204

    def accept(self, authorize_url: str, login: str = "ada") -> dict[str, str]:
        """Log in and say yes; the query that the browser is sent back with."""
        with httpx.Client() as browser:
            answer = browser.get(authorize_url)
            for _ in range(20):
                if answer.is_redirect:
                    where = str(answer.next_request.url) if answer.next_request else ""
                    if not where.startswith(self.issuer):
                        return dict(parse_qsl(urlsplit(where).query))
                    answer = browser.get(where)
                    continue
                assert answer.status_code == 200, answer.text
                found = _FORM.search(answer.text)
                assert found is not None, answer.text
                given = dict(_HIDDEN.findall(found.group(2)))
                if given.get("prompt") == "login":
                    given |= {"login": login, "password": "any"}
                answer = browser.post(found.group(1), data=given)
        raise AssertionError("it never sends the browser back")


@contextmanager
def authorization_server(*redirect_uris: str) -> Iterator[AuthorizationServer]:
    """One that knows these addresses to send people back to."""
    if shutil.which("node") is None or not (NODE_MODULES / "oidc-provider").is_dir():
        assert not os.environ.get("CI"), "CI must have node, and tests/node installed by `make test`"
        pytest.skip("there is no node, or tests/node is not installed")
    issuer = f"http://{HOST}:{free_port(HOST)}"
    command = ["node", str(HERE / "server.mjs"), str(NODE_MODULES), issuer, *redirect_uris]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            lines = iter(process.stdout.readline, "")
            assert any("ready" in line for line in lines), "the authorization server did not start"
            yield AuthorizationServer(issuer)
        finally:
            process.kill()
