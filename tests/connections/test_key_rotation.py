"""`manage.py rotate-encryption-key`: all that is encrypted, while others write, and after it was killed half way."""

import os
import re
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from django.test import override_settings

from tenants.people import encryption, rotation
from tests.waiting import until

ROOT = Path(__file__).resolve().parents[2]
OLD, NEW, LOST = "11" * 32, "22" * 32, "33" * 32
ROWS = 60


def encrypted(key: str, text: str) -> str:
    """The text under one key."""
    with override_settings(TOOLGATE_ENCRYPTION_KEYS=[key]):
        return encryption.encrypt(text)


@pytest.fixture(scope="module")
def addresses() -> dict[str, str]:
    """A database of its own, with a service and many targets whose secrets are under the old key.

    It stays: its owner cannot drop it by force while PostgreSQL itself vacuums it.
    """
    name = f"rotation_{uuid.uuid4().hex[:8]}"
    urls = {each: os.environ[each] for each in os.environ if re.fullmatch(r"DATABASE(_\w+)?_URL", each)}
    own = {each: urlunsplit(urlsplit(url)._replace(path=f"/{name}")) for each, url in urls.items()}
    admin = urls["DATABASE_OWNER_URL"].rpartition("/")[0] + "/postgres"
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE {name} TEMPLATE "{os.environ["TEMPLATE_DATABASE"]}"'.encode())
    return own


@pytest.fixture
def owner(addresses: dict[str, str]) -> Iterator["psycopg.Connection[tuple[str, ...]]"]:
    """The database's owner, in a database where all secrets are under the old key."""
    with psycopg.connect(addresses["DATABASE_OWNER_URL"], autocommit=True) as connection:
        connection.execute("DELETE FROM notification_targets; DELETE FROM services; DELETE FROM tenants")
        tenant = uuid.uuid4()
        connection.execute(
            "INSERT INTO tenants (id, slug, name, role_ceilings, default_tools, created_at)"
            " VALUES (%s, 't', 'T', '{}', '[]', now())", [tenant],
        )  # fmt: skip
        for number in range(ROWS):
            connection.execute(
                "INSERT INTO notification_targets (id, tenant_id, channel, name, destination, secret, events, enabled,"
                " disabled_because) VALUES (gen_random_uuid(), %s, 'slack', '', %s, %s, '{}', true, '')",
                [tenant, f"{number:03}", encrypted(OLD, f"secret {number}")],
            )
        yield connection


def command(addresses: dict[str, str], *keys: str, check: bool = False) -> "subprocess.Popen[str]":
    """The command, under way, with these keys."""
    asked = [sys.executable, "manage.py", "rotate-encryption-key", "--batch", "10", *(["--check"] if check else [])]
    environment = os.environ | addresses | {"TOOLGATE_ENCRYPTION_KEYS": ",".join(keys)}
    return subprocess.Popen(
        asked, cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def run(addresses: dict[str, str], *keys: str, check: bool = False) -> tuple[int, str]:
    """Its exit code, and what it said."""
    with command(addresses, *keys, check=check) as running:
        said, _ = running.communicate()
    return running.returncode, said


def secrets(owner: "psycopg.Connection[tuple[str, ...]]", *keys: str) -> list[str]:
    """What the targets' secrets are, with these keys alone."""
    found = owner.execute("SELECT secret FROM notification_targets ORDER BY destination").fetchall()
    with override_settings(TOOLGATE_ENCRYPTION_KEYS=list(keys)):
        return [encryption.decrypt(secret) for (secret,) in found]


def old_ones(owner: "psycopg.Connection[tuple[str, ...]]") -> int:
    """How many need the old key."""
    found = owner.execute("SELECT secret FROM notification_targets").fetchall()
    with override_settings(TOOLGATE_ENCRYPTION_KEYS=[NEW]):
        return sum(not encryption.is_readable(secret) for (secret,) in found)


def test_killed_half_way_it_is_not_done_and_goes_on_when_it_is_run_again(
    addresses: dict[str, str], owner: "psycopg.Connection[tuple[str, ...]]"
) -> None:
    [(held,)] = owner.execute("SELECT id FROM notification_targets ORDER BY id OFFSET 35 LIMIT 1").fetchall()
    with psycopg.connect(addresses["DATABASE_OWNER_URL"]) as other:
        # Somebody writes this row, so that the command is in the middle of a batch when it is killed.
        other.execute("SELECT 1 FROM notification_targets WHERE id = %s FOR UPDATE", [held])
        with command(addresses, NEW, OLD) as running:
            until(lambda: old_ones(owner) == ROWS - 30)
            running.send_signal(signal.SIGKILL)
            running.communicate()
        assert running.returncode == -signal.SIGKILL
    assert secrets(owner, NEW, OLD) == [f"secret {number}" for number in range(ROWS)]
    code, said = run(addresses, NEW, OLD, check=True)
    assert code == 1 and f"Not done: {ROWS - 30} still need an older key." in said
    assert old_ones(owner) == ROWS - 30
    code, said = run(addresses, NEW, OLD)
    assert code == 0 and "Done: nothing needs any key but the first." in said
    assert secrets(owner, NEW) == [f"secret {number}" for number in range(ROWS)]
    assert "secret 1" not in said


def test_what_no_key_decrypts_is_left_as_it_is_and_never_called_done(
    addresses: dict[str, str], owner: "psycopg.Connection[tuple[str, ...]]"
) -> None:
    lost = encrypted(LOST, "for ever")
    owner.execute("UPDATE notification_targets SET secret = %s WHERE destination = '007'", [lost])
    code, said = run(addresses, NEW, OLD)
    assert code == 1 and "Not done: 1 cannot be decrypted with any key" in said
    assert owner.execute("SELECT secret FROM notification_targets WHERE destination = '007'").fetchall() == [(lost,)]
    assert old_ones(owner) == 1


def test_every_column_that_says_it_is_encrypted_is_registered() -> None:
    from django.apps import apps

    said = {
        rotation.Column(model._meta.db_table, field.column)
        for model in apps.get_models()
        for field in model._meta.get_fields()
        if "ncrypted" in str(getattr(field, "help_text", ""))
    }
    assert said <= set(rotation.columns())
    assert rotation.Column("notification_targets", "secret") in said and len(said) >= 11


def test_secrets_of_second_factors_and_what_tools_left_with_answered_questions_are_encrypted_again(
    addresses: dict[str, str], owner: "psycopg.Connection[tuple[str, ...]]"
) -> None:
    [(tenant,)] = owner.execute("SELECT id FROM tenants").fetchall()
    user = uuid.uuid4()
    owner.execute(
        "INSERT INTO users (id, username, password, is_superuser, is_staff, is_active, first_name, last_name, email,"
        " date_joined) VALUES (%s, 'u', '', false, false, true, '', '', '', now())", [user],
    )  # fmt: skip
    owner.execute(
        "INSERT INTO mfa_authenticator (type, data, user_id, created_at)"
        " SELECT 'totp', jsonb_build_object('secret', %s::text, 'last_counter', 7), %s, now()",
        [encrypted(OLD, "of the app"), user],
    )
    owner.execute(
        "INSERT INTO mfa_authenticator (type, data, user_id, created_at)"
        " SELECT 'recovery_codes', jsonb_build_object('seed', %s::text, 'used_mask', 3), %s, now()",
        [encrypted(OLD, "of the codes"), user],
    )
    owner.execute(
        "INSERT INTO questions (id, tenant_id, user_id, call_id, tool_name, binding, round, position, key, message,"
        " question_hash, state, status, created_at, expires_at)"
        " VALUES (gen_random_uuid(), %s, %s, gen_random_uuid(), 't', '', 1, 0, 'k', 'm', 'h', %s, 'answered', now(),"
        " now())",
        [tenant, user, encrypted(OLD, "of the tool")],
    )
    assert run(addresses, NEW, OLD)[0] == 0
    kept = owner.execute("SELECT data ->> 'secret', data ->> 'last_counter' FROM mfa_authenticator WHERE type = 'totp'")
    codes = owner.execute("SELECT data ->> 'seed', data ->> 'used_mask' FROM mfa_authenticator WHERE type <> 'totp'")
    left = owner.execute("SELECT state, 'x' FROM questions")
    with override_settings(TOOLGATE_ENCRYPTION_KEYS=[NEW]):
        found = [(encryption.decrypt(row[0]), row[1]) for each in (kept, codes, left) for row in each.fetchall()]
    assert found == [("of the app", "7"), ("of the codes", "3"), ("of the tool", "x")]
    owner.execute("DELETE FROM questions; DELETE FROM mfa_authenticator; DELETE FROM users")
