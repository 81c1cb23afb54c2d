"""Tokens of a real authorization server: whose they are, how long, who refreshes them, and what ends them."""

import asyncio
import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from services.connections import flow, listing, revocation
from services.connections.errors import AttemptRefused
from services.connections.flow import Returned
from services.credentials import Credential, CredentialUnavailable, NotConnected, resolver, tokens
from services.credentials.rows import Row
from services.oauth.errors import GrantRefused
from services.oauth.grants import Tokens
from tenants.people.encryption import decrypt
from tenants.scope import transactions
from tests.connections.authorization import HOST, AuthorizationServer
from tests.connections.connecting import (
    SESSION,
    add,
    change,
    connect,
    expire,
    headers,
    kept,
    of_client,
    of_user,
    token_of,
)
from tests.database import rows
from tests.people import Cast

ROOT = Path(__file__).resolve().parents[2]
URL = "http://127.0.0.2:9"


async def test_a_user_who_connects_is_called_with_a_token_of_their_own(
    server: AuthorizationServer, tenant: Cast
) -> None:
    service = await asyncio.to_thread(add, tenant, URL, of_user(server, resource="https://desk.example.com/"))
    with pytest.raises(NotConnected, match="/settings/connections/"):
        await headers(service, tenant.alice)
    await connect(server, tenant.alice)
    await connect(server, tenant.bob, login="bob")
    alices, bobs = token_of(await headers(service, tenant.alice)), token_of(await headers(service, tenant.bob))
    assert alices != bobs and server.knows(alices) and server.knows(bobs)
    with pytest.raises(NotConnected):
        await headers(service, tenant.olga)
    [first, second] = kept(tenant)
    assert {first["user_id"], second["user_id"]} == {tenant.alice.scope.user_id, tenant.bob.scope.user_id}
    assert (first["issuer"], first["resource"]) == (server.issuer, "https://desk.example.com/")
    assert alices not in str(first) + str(second) and bobs not in str(first) + str(second)
    [shown] = await listing.of_user(tenant.alice.scope)
    assert (shown["state"], shown["scopes"]) == ("connected", ["orders:read", "orders:write"])
    assert alices not in str(shown) and shown["last_used_at"] is not None


async def test_a_token_that_is_over_is_refreshed_once_for_all_who_wait(
    server: AuthorizationServer, tenant: Cast
) -> None:
    service = await asyncio.to_thread(add, tenant, URL, of_user(server))
    await connect(server, tenant.alice)
    before = token_of(await headers(service, tenant.alice))
    await asyncio.to_thread(expire, tenant)
    granted = server.control(delay=200)["granted"]
    found = {token_of(each) for each in await asyncio.gather(*(headers(service, tenant.alice) for _ in range(20)))}
    assert len(found) == 1 and before not in found and server.knows(found.pop())
    assert server.control()["granted"] == granted + 1
    [row] = kept(tenant)
    assert (row["fence"], row["refreshing_until"], row["problem"]) == (1, None, "")


async def test_two_processes_that_need_a_new_token_at_once_ask_for_one(
    server: AuthorizationServer, tenant: Cast
) -> None:
    service = await asyncio.to_thread(add, tenant, URL, of_user(server))
    await connect(server, tenant.alice)
    await asyncio.to_thread(expire, tenant)
    # Long enough that both of them find the token over, and one of them has to wait.
    before = server.control(delay=1500)
    asked = [str(each) for each in (*tenant.alice.scope, service.id)]
    command = [sys.executable, "-m", "tests.connections.race", *asked]
    environment = os.environ | {"TOOLGATE_EGRESS_ALLOW": HOST}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": environment}
    processes = [subprocess.Popen(command, cwd=ROOT, **pipes) for _ in range(2)]  # type: ignore[call-overload]
    for process in processes:
        assert await asyncio.to_thread(process.stdout.readline) == "ready\n"
    said = await asyncio.gather(*(asyncio.to_thread(process.communicate, "go\n") for process in processes))
    [token] = {out.strip() for out, _ in said}
    sent = await headers(service, tenant.alice)
    assert hashlib.sha256(sent["Authorization"].encode()).hexdigest() == token
    after = server.control()
    assert (after["granted"], after["refused"]) == (before["granted"] + 1, before["refused"])
    assert kept(tenant)[0]["fence"] == 1


async def test_a_refused_token_is_refreshed_once_and_not_again_when_the_new_one_is_refused_too(
    server: AuthorizationServer, tenant: Cast
) -> None:
    service = await asyncio.to_thread(add, tenant, URL, of_user(server))
    await connect(server, tenant.alice)
    sent = await headers(service, tenant.alice)
    again = await resolver.refreshed(tenant.alice.scope, Credential.of(service), sent)
    assert again is not None and again != sent
    # Whoever was refused with the old one gets what is there.
    assert await resolver.refreshed(tenant.alice.scope, Credential.of(service), sent) == again
    assert await resolver.refreshed(tenant.alice.scope, Credential.of(service), again) is None
    assert kept(tenant)[0]["fence"] == 1


async def test_a_grant_that_ended_at_the_server_needs_connecting_again(
    server: AuthorizationServer, tenant: Cast
) -> None:
    service = await asyncio.to_thread(add, tenant, URL, of_user(server))
    await connect(server, tenant.alice)
    [row] = kept(tenant)
    server.revoke(decrypt(row["refresh_token"]))
    await asyncio.to_thread(expire, tenant)
    with pytest.raises(NotConnected, match="has ended there"):
        await headers(service, tenant.alice)
    [row] = kept(tenant)
    assert row["ended_at"] is not None and row["access_token"] == row["refresh_token"] == ""
    assert (await listing.of_user(tenant.alice.scope))[0]["state"] == "expired"
    recorded = rows(
        "SELECT action, actor_id, via, changes FROM setting_changes WHERE tenant_id = %(tenant)s"
        " AND target = 'connection' ORDER BY id",
        tenant=tenant.id,
    )
    assert [each["action"] for each in recorded] == ["created", "changed"]
    assert recorded[1]["via"] == "toolgate" and recorded[1]["actor_id"] is None
    assert recorded[1]["changes"] == {"state": ["connected", "ended"], "token": ["set", "none"]}
    await connect(server, tenant.alice)
    assert server.knows(token_of(await headers(service, tenant.alice)))
    assert (await listing.of_user(tenant.alice.scope))[0]["state"] == "connected"


async def test_a_refresh_token_that_somebody_else_has_used_meanwhile_is_read_again(
    server: AuthorizationServer, tenant: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = await asyncio.to_thread(add, tenant, URL, of_user(server))
    await connect(server, tenant.alice)
    await asyncio.to_thread(expire, tenant)
    newer = await headers(service, tenant.alice)
    await asyncio.to_thread(expire, tenant)

    async def beaten(*args: object) -> None:
        # Another process, whose lease this one thought was over, has written in this moment.
        await asyncio.to_thread(
            rows,
            "UPDATE connections SET fence = fence + 1, expires_at = now() + interval '1 hour'"
            " WHERE tenant_id = %(tenant)s RETURNING 1",
            tenant=tenant.id,
        )
        raise GrantRefused("invalid_grant")

    monkeypatch.setattr(tokens, "_asked", beaten)
    assert await headers(service, tenant.alice) == newer
    assert kept(tenant)[0]["ended_at"] is None


async def test_who_disconnects_while_a_call_waits_for_a_newer_token_stays_disconnected(
    server: AuthorizationServer, tenant: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = await asyncio.to_thread(add, tenant, URL, of_user(server))
    await connect(server, tenant.alice)
    await asyncio.to_thread(expire, tenant)
    ask, given, go_on = tokens._asked, asyncio.Event(), asyncio.Event()
    came: list[Tokens] = []

    async def held(credential: Credential, row: Row) -> Any:
        answer = await ask(credential, row)
        came.append(answer[2])
        given.set()
        await go_on.wait()
        return answer

    monkeypatch.setattr(tokens, "_asked", held)
    waiting = asyncio.create_task(headers(service, tenant.alice))
    await given.wait()
    assert server.knows(came[0].access)
    assert await flow.end(tenant.alice.scope, "desk") is True
    go_on.set()
    with pytest.raises(NotConnected):
        await waiting
    assert kept(tenant) == []
    # What came too late is good for nobody.
    assert not server.knows(came[0].access) and not server.knows(came[0].refresh)


async def test_what_comes_too_late_for_a_connection_with_newer_tokens_ends_none_of_them(
    server: AuthorizationServer, tenant: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = await asyncio.to_thread(add, tenant, URL, of_user(server))
    await connect(server, tenant.alice)
    await asyncio.to_thread(expire, tenant)
    ask = tokens._asked

    async def outrun(credential: Credential, row: Row) -> Any:
        answer = await ask(credential, row)
        # The user connects anew in this moment.
        await connect(server, tenant.alice)
        return answer

    monkeypatch.setattr(tokens, "_asked", outrun)
    revoked = server.control()["revoked"]
    assert server.knows(token_of(await headers(service, tenant.alice)))
    assert server.control()["revoked"] == revoked and kept(tenant)[0]["fence"] == 1


async def test_a_process_that_was_lost_while_it_refreshed_keeps_nobody_waiting_for_good(
    server: AuthorizationServer, tenant: Cast
) -> None:
    service = await asyncio.to_thread(add, tenant, URL, of_user(server))
    await connect(server, tenant.alice)
    await asyncio.to_thread(expire, tenant)
    lease = (
        "UPDATE connections SET refreshing_until = now() + %(for)s::interval WHERE tenant_id = %(tenant)s RETURNING 1"
    )
    await asyncio.to_thread(lambda: rows(lease, tenant=tenant.id, **{"for": "1 hour"}))
    waiting = asyncio.create_task(headers(service, tenant.alice))
    await asyncio.to_thread(lambda: rows(lease, tenant=tenant.id, **{"for": "-1 second"}))
    assert server.knows(token_of(await waiting))
    assert kept(tenant)[0]["refreshing_until"] is None


async def test_the_tenants_own_token_is_asked_for_at_the_first_call_and_shared(
    server: AuthorizationServer, tenant: Cast
) -> None:
    service = await asyncio.to_thread(add, tenant, URL, of_client(server))
    granted = server.control()["granted"]
    found = await asyncio.gather(*(headers(service, who) for who in (tenant.alice, tenant.bob, tenant.olga)))
    assert len({token_of(each) for each in found}) == 1 and server.knows(token_of(found[0]))
    assert server.control()["granted"] == granted + 1
    await asyncio.to_thread(expire, tenant)
    assert token_of(await headers(service, tenant.bob)) != token_of(found[0])
    assert server.control()["granted"] == granted + 2
    assert await listing.of_user(tenant.alice.scope) == []


async def test_a_client_secret_that_is_wrong_is_no_credential_and_says_who_can_change_it(
    server: AuthorizationServer, tenant: Cast
) -> None:
    service = await asyncio.to_thread(add, tenant, URL, of_client(server, client_secret="wrong-secret"))
    with pytest.raises(CredentialUnavailable, match=r"invalid_client.*An owner") as refused:
        await headers(service, tenant.alice)
    assert "wrong-secret" not in str(refused.value)


async def test_what_is_disconnected_is_revoked_at_the_server(server: AuthorizationServer, tenant: Cast) -> None:
    service = await asyncio.to_thread(add, tenant, URL, of_user(server))
    await connect(server, tenant.alice)
    token = token_of(await headers(service, tenant.alice))
    # Also of a service that is switched off.
    await asyncio.to_thread(lambda: change(tenant, enabled=False))
    assert [each["state"] for each in await listing.of_user(tenant.alice.scope)] == ["connected"]
    assert await listing.of_user(tenant.bob.scope) == []
    assert await flow.end(tenant.alice.scope, "desk") is True
    assert await flow.end(tenant.alice.scope, "desk") is False
    with pytest.raises(NotConnected):
        await headers(service, tenant.alice)
    # The sweeper finds it whatever became of the message to a worker, and sees whose it is alone.
    due = await transactions.fetch(revocation._DUE, [revocation.BATCH], login="system")
    assert {"tenant_id": tenant.id} in due
    await revocation.revoke_due(tenant.id)
    assert not server.knows(token)
    assert rows("SELECT 1 FROM token_revocations WHERE tenant_id = %(tenant)s", tenant=tenant.id) == []


@pytest.mark.parametrize("how", ["member removed", "service removed", "host changed", "issuer changed"])
async def test_a_connection_ends_and_is_revoked_with_what_it_was_for(
    server: AuthorizationServer, tenant: Cast, how: str
) -> None:
    service = await asyncio.to_thread(add, tenant, URL, of_user(server))
    await connect(server, tenant.alice)
    token = token_of(await headers(service, tenant.alice))
    await asyncio.to_thread(_end, server, tenant, how)
    assert kept(tenant) == []
    await revocation.revoke_due(tenant.id)
    assert not server.knows(token)


def _end(server: AuthorizationServer, tenant: Cast, how: str) -> None:
    from services import changes
    from tenants.scope import transactions

    if how == "member removed":
        rows("DELETE FROM memberships WHERE user_id = %(user)s RETURNING 1", user=tenant.alice.scope.user_id)
    elif how == "service removed":
        with transactions.scope(tenant.id, tenant.olga.principal.user_id):
            changes.remove("desk")
    elif how == "host changed":
        change(tenant, url="http://127.0.0.2:10", credential=of_user(server))
    else:
        change(tenant, credential=of_user(server, issuer="https://other.example.com"))


async def test_a_path_or_a_new_client_secret_ends_no_connection(server: AuthorizationServer, tenant: Cast) -> None:
    await asyncio.to_thread(add, tenant, URL, of_user(server))
    await connect(server, tenant.alice)
    await asyncio.to_thread(lambda: change(tenant, url=f"{URL}/v2", timeout=5))
    service = await asyncio.to_thread(lambda: change(tenant, credential=of_user(server)))
    assert server.knows(token_of(await headers(service, tenant.alice)))


async def test_an_attempt_is_used_once_by_who_began_it_in_the_session_where_they_did(
    server: AuthorizationServer, tenant: Cast
) -> None:
    await asyncio.to_thread(add, tenant, URL, of_user(server))
    for person, session in ((tenant.bob, SESSION), (tenant.alice, "another session"), (tenant.alice, None)):
        begun = await flow.begin(tenant.alice.scope, "desk", SESSION)
        back = Returned.of(await asyncio.to_thread(server.accept, begun["authorize_url"]))
        with pytest.raises(AttemptRefused):
            await flow.finish(person.scope, back, session)
        assert kept(tenant) == []
    begun = await flow.begin(tenant.alice.scope, "desk", SESSION)
    back = Returned.of(await asyncio.to_thread(server.accept, begun["authorize_url"]))
    assert await flow.confirm(tenant.alice.scope, back) is None
    await flow.finish(tenant.alice.scope, back, SESSION)
    with pytest.raises(AttemptRefused, match="used already"):
        await flow.finish(tenant.alice.scope, back, SESSION)
    assert len(kept(tenant)) == 1


async def test_what_was_begun_with_a_key_connects_only_once_its_user_has_said_so(
    server: AuthorizationServer, tenant: Cast
) -> None:
    await asyncio.to_thread(add, tenant, URL, of_user(server))
    begun = await flow.begin(tenant.alice.scope, "desk", None)
    back = Returned.of(await asyncio.to_thread(server.accept, begun["authorize_url"]))
    assert await flow.confirm(tenant.bob.scope, back) is None
    assert await flow.confirm(tenant.alice.scope, back) == {"service": "desk", "server": server.issuer}
    with pytest.raises(AttemptRefused, match="another session"):
        await flow.finish(tenant.alice.scope, back, SESSION)
    assert kept(tenant) == []


@pytest.mark.parametrize("iss", [None, "https://evil.example.com", ""])
async def test_an_answer_of_another_server_or_of_none_connects_nothing(
    server: AuthorizationServer, tenant: Cast, iss: str | None
) -> None:
    await asyncio.to_thread(add, tenant, URL, of_user(server))
    begun = await flow.begin(tenant.alice.scope, "desk", SESSION)
    back = await asyncio.to_thread(server.accept, begun["authorize_url"])
    assert back.pop("iss") == server.issuer
    granted = server.control()["granted"]
    from services.connections.errors import ServerFailed

    with pytest.raises(ServerFailed):
        await flow.finish(tenant.alice.scope, Returned.of(back | ({} if iss is None else {"iss": iss})), SESSION)
    assert kept(tenant) == [] and server.control()["granted"] == granted


async def test_a_tenant_with_the_same_slug_and_server_has_connections_of_its_own(
    server: AuthorizationServer, tenant: Cast, other_tenant: Cast
) -> None:
    service = await asyncio.to_thread(add, tenant, URL, of_user(server))
    others = await asyncio.to_thread(add, other_tenant, URL, of_user(server))
    await connect(server, tenant.alice)
    with pytest.raises(NotConnected):
        await headers(others, other_tenant.alice)
    # Not even with the id of the service.
    with pytest.raises(NotConnected):
        await headers(service, other_tenant.alice)
    with pytest.raises(NotConnected):
        await resolver.headers(
            other_tenant.alice.scope._replace(user_id=tenant.alice.scope.user_id), Credential.of(service)
        )


async def test_toolgate_registers_itself_once_where_the_owner_says_so(
    server: AuthorizationServer, tenant: Cast
) -> None:
    given = {"type": "oauth_user", "issuer": server.issuer, "registration": "dynamic", "scopes": ["orders:read"]}
    service = await asyncio.to_thread(add, tenant, URL, given)
    await connect(server, tenant.alice)
    await connect(server, tenant.bob, login="bob")
    assert server.knows(token_of(await headers(service, tenant.alice)))
    [client] = rows("SELECT client_id, issuer FROM service_clients WHERE tenant_id = %(tenant)s", tenant=tenant.id)
    assert {row["client_id"] for row in kept(tenant)} == {client["client_id"]}
