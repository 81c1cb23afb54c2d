"""The commands that make operators, members and tenants, as processes of their own with production's settings."""

import os
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.hashers import check_password

from tests import processes
from tests.database import rows
from tests.people import Cast

ROOT = Path(__file__).resolve().parent.parent.parent
PASSWORD = "correct horse battery"
ACCOUNT = "SELECT password, is_staff, is_superuser, is_active, email FROM users WHERE username = %(name)s"
NOBODY = dict.fromkeys(("TOOLGATE_LEDGER_KEY", "PUBLIC_URL"), "")


def manage(*words: str, given: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """`manage.py WORDS…` in production, with standard input; the four URLs are those of the test's database."""
    from django.conf import settings

    logins = {"default": "DATABASE_URL", "system": "DATABASE_SYSTEM_URL", "operator": "DATABASE_OPERATOR_URL"}
    production = {
        "TOOLGATE_ENV": "production",
        "SECRET_KEY": "x" * 50,
        "TOOLGATE_ENCRYPTION_KEYS": "0" * 64,
        "ALLOWED_HOSTS": "gate.example",
        **{name: settings.DATABASE_URLS[alias] for alias, name in logins.items()},
    }
    return processes.run(
        [sys.executable, "manage.py", *words],
        cwd=ROOT,
        env=os.environ | NOBODY | production | environment,
        input=given,
        capture_output=True,
        text=True,
    )


def refused(done: subprocess.CompletedProcess[str]) -> str:
    """The one line of a command that did nothing."""
    assert (done.returncode, done.stdout) == (1, "")
    [line] = done.stderr.splitlines()
    return line


def account(name: str) -> dict[str, Any] | None:
    return next(iter(rows(ACCOUNT, name=name)), None)


@pytest.fixture
def name() -> str:
    return f"op-{uuid.uuid4().hex[:10]}"


def test_an_operator_is_made_in_production_with_a_password_from_standard_input(name: str) -> None:
    done = manage("create_operator", name, "--email", "ops@gate.example", given=f"{PASSWORD}\n")
    line = f"{name} is an operator now; log in at https://gate.example/admin/\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, line, "")
    made = account(name)
    assert made is not None and check_password(PASSWORD, made.pop("password"))
    assert made == {"is_staff": True, "is_superuser": True, "is_active": True, "email": "ops@gate.example"}


def test_the_password_may_come_from_a_file_and_is_reset_with_words(name: str, tmp_path: Path) -> None:
    (tmp_path / "first").write_text(f"{PASSWORD}\nnot this line\n")
    (tmp_path / "second").write_text("another fine password")
    assert manage("create_operator", name, "--password-file", str(tmp_path / "first")).returncode == 0
    again = refused(manage("create_operator", name, "--password-file", str(tmp_path / "second")))
    assert again == f"CommandError: {name} is an operator already: --reset-password sets a new password"
    reset = manage("create_operator", name, "--reset-password", "--password-file", str(tmp_path / "second"))
    assert reset.stdout == f"{name} is an operator with a new password; log in at https://gate.example/admin/\n"
    made = account(name)
    assert made is not None and check_password("another fine password", made["password"])


def test_a_member_becomes_an_operator_only_when_that_is_said(tenant: Cast) -> None:
    bob = tenant.bob.username
    before = account(bob)
    line = refused(manage("create_operator", bob, given=f"{PASSWORD}\n"))
    assert line.startswith(f"CommandError: there is a user {bob} who is no operator: --promote makes them one")
    assert account(bob) == before
    assert manage("create_operator", bob, "--promote").returncode == 0
    after = account(bob)
    assert before is not None and after == before | {"is_staff": True, "is_superuser": True}


@pytest.mark.parametrize(
    ("words", "given", "line"),
    [
        (["a b"], PASSWORD, "CommandError: username 'a b' is refused: Enter a valid username."),
        (["x\x1b[31m"], PASSWORD, "CommandError: username 'x\\x1b[31m' is refused: it has characters that cannot be"),
        (["{}"], "short", "CommandError: the password is refused: This password is too short."),
        (["{}"], "password1", "CommandError: the password is refused: This password is too common."),
        (["{}"], "", "CommandError: the first line of standard input is no password"),
        (["{}", "--email", "nowhere"], PASSWORD, "CommandError: email 'nowhere' is refused: Enter a valid email"),
        (["{}", "--promote"], PASSWORD, "CommandError: there is no user "),
        (["{}", "--password-file", "/nowhere"], "", "CommandError: the password file /nowhere cannot be read: No such"),
    ],
)
def test_what_breaks_a_rule_makes_no_operator(name: str, words: list[str], given: str, line: str) -> None:
    words = [word.replace("{}", name) for word in words]
    assert refused(manage("create_operator", *words, given=given)).startswith(line)
    assert account(words[0]) is None


def test_djangos_own_command_says_which_to_use(name: str) -> None:
    line = "CommandError: use `manage.py create_operator {}`, which also reads --password-file FILE"
    assert refused(manage("createsuperuser", "--username", name, "--noinput")) == line.format(name)
    assert account(name) is None


def test_an_operators_login_that_does_not_work_is_one_line(name: str) -> None:
    wrong = "postgresql://nobody:wrong@127.0.0.1:1/none"
    line = refused(manage("create_operator", name, given=PASSWORD, DATABASE_OPERATOR_URL=wrong))
    assert line.startswith("CommandError: the login of DATABASE_OPERATOR_URL cannot be used: connection failed")
    assert "wrong" not in line.replace("went wrong", "")


# --- members and tenants ---------------------------------------------------------------------------------------------
def _member(tenant: Cast, name: str, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
    return manage("create_member", "--tenant", tenant.slug, "--username", name, "--role", "member", *words, given=given)


def test_a_members_password_is_read_from_standard_input(tenant: Cast, name: str) -> None:
    done = _member(tenant, name, "--password-file", "-", given=f"{PASSWORD}\n")
    assert (done.returncode, done.stderr) == (0, "")
    made = account(name)
    assert made is not None and check_password(PASSWORD, made["password"])


def test_a_password_on_the_command_line_works_and_is_warned_of(tenant: Cast, name: str) -> None:
    done = _member(tenant, name, "--password", PASSWORD)
    warning = "A password in --password can be read in the list of processes; use --password-file.\n"
    assert (done.returncode, done.stderr) == (0, warning)


@pytest.mark.parametrize(
    ("name", "password", "line"),
    [
        ("hank\x1b]0;owned\x07", PASSWORD, "it has characters that cannot be printed"),
        ("hank <b>", PASSWORD, "Enter a valid username."),
        ("h" * 151, PASSWORD, "Ensure this value has at most 150 characters"),
        ("", PASSWORD, "This field cannot be blank."),
        ("hank", "a", "the password is refused: This password is too short."),
        ("hank", "", "the password is refused: This password is too short."),
    ],
)
def test_a_member_is_held_to_the_rules_of_the_pages(tenant: Cast, name: str, password: str, line: str) -> None:
    before = rows("SELECT id FROM memberships WHERE tenant_id = %(id)s", id=tenant.id)
    done = _member(tenant, name, "--password", password)
    assert done.returncode == 1
    assert line in done.stderr.splitlines()[-1]
    assert rows("SELECT id FROM memberships WHERE tenant_id = %(id)s", id=tenant.id) == before


@pytest.mark.parametrize("slug", ["a b", "../etc", "x\x1b[2J", "s" * 51, ""])
def test_a_tenants_slug_is_held_to_the_rules_of_the_pages(slug: str) -> None:
    assert refused(manage("create_tenant", slug)).startswith(f"CommandError: slug {slug!r} is refused: ")
    assert rows("SELECT id FROM tenants WHERE slug = %(slug)s", slug=slug) == []
