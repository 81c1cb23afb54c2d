"""Settings as a process reads them from its environment."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import processes

ROOT = Path(__file__).resolve().parent.parent
LOOK = """
import json, sys
from gateway.process.environment import WrongSetting
try:
    from gateway.config import settings
except WrongSetting as wrong:
    sys.exit(str(wrong))
print(json.dumps({name: getattr(settings, name) for name in sys.argv[1:]}, default=str))
"""


def _process(names: tuple[str, ...], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    known = {name: value for name, value in os.environ.items() if not name.startswith("EMAIL_")}
    command = [sys.executable, "-c", LOOK, *names]
    return processes.run(command, cwd=ROOT, env=known | environment, capture_output=True, text=True)


def read(*names: str, **environment: str) -> list[Any]:
    """The settings of these names in a process with this environment."""
    done = _process(names, environment)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return [found[name] for name in names]


def refusal(**environment: str) -> str:
    """The line that a process with this environment refuses to start with."""
    done = _process((), environment)
    assert done.returncode == 1
    return done.stderr.strip()


PRODUCTION = {"TOOLGATE_ENV": "production", "SECRET_KEY": "x" * 50, "TOOLGATE_ENCRYPTION_KEYS": "0" * 64}
MAIL = ("EMAIL_PORT", "EMAIL_USE_TLS", "EMAIL_USE_SSL")


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, [25, False, False]),
        ({"EMAIL_USE_TLS": "true"}, [587, True, False]),
        ({"EMAIL_USE_TLS": "Yes", "EMAIL_PORT": "2525"}, [2525, True, False]),
        ({"EMAIL_USE_TLS": "1", "EMAIL_PORT": "465"}, [465, False, True]),
        ({"EMAIL_USE_TLS": "", "EMAIL_PORT": ""}, [25, False, False]),
    ],
)
def test_a_mail_server_is_spoken_to_as_it_is_configured(environment: dict[str, str], expected: list[Any]) -> None:
    names = ("EMAIL_BACKEND", *MAIL, "DEFAULT_FROM_EMAIL")
    smtp = "django.core.mail.backends.smtp.EmailBackend"
    sender = "Toolgate <toolgate@localhost>"
    assert read(*names, EMAIL_HOST="mail.example", **environment) == [smtp, *expected, sender]


def test_the_password_of_the_mail_server_may_be_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("from a file\n")
    environment = {"EMAIL_HOST_PASSWORD_FILE": str(tmp_path / "password"), "EMAIL_FROM": "gate@corp.example"}
    assert read("EMAIL_HOST_PASSWORD", "DEFAULT_FROM_EMAIL", **environment) == ["from a file", "gate@corp.example"]


@pytest.mark.parametrize(
    ("environment", "url"),
    [
        ({"HOST": "127.0.0.1", "PORT": "8123"}, "http://127.0.0.1:8123"),
        ({"HOST": "::1", "PORT": "8123"}, "http://[::1]:8123"),
        ({"PUBLIC_URL": "https://gate.example/toolgate/"}, "https://gate.example/toolgate"),
        ({**PRODUCTION, "ALLOWED_HOSTS": ".gate.example,other.example"}, "https://gate.example"),
    ],
)
def test_links_lead_to_where_people_reach_the_pages(environment: dict[str, str], url: str) -> None:
    assert read("PUBLIC_URL", **environment) == [url]


def test_links_that_a_command_writes_lead_to_the_port_that_is_served(tmp_path: Path) -> None:
    (tmp_path / "services.json").write_text('{"PORT": "8123"}')
    given = {"TOOLGATE_DATA_DIR": str(tmp_path)}
    assert read("PUBLIC_URL", **given) == ["http://127.0.0.1:8123"]
    assert read("PUBLIC_URL", PORT="8124", **given) == ["http://127.0.0.1:8124"]


def test_private_places_are_allowed_by_name_address_and_network() -> None:
    given = "Intern.Example, 10.0.0.0/8,fd00::/8,127.0.0.1"
    [[hosts, networks]] = read("TOOLGATE_EGRESS_ALLOW", TOOLGATE_EGRESS_ALLOW=given)
    assert hosts == "frozenset({'intern.example'})"
    assert networks == ["10.0.0.0/8", "fd00::/8", "127.0.0.1/32"]


@pytest.mark.parametrize(
    ("environment", "line"),
    [
        ({"PUBLIC_URL": "gate.example"}, "PUBLIC_URL must look like https://toolgate.example.com, not 'gate.example'"),
        *(
            (
                {"CORS_ALLOWED_ORIGINS": f"https://a.example,{origin}"},
                f"CORS_ALLOWED_ORIGINS must be like https://app.example.com, not {origin!r}",
            )
            for origin in ("*", "app.example", "https://app.example/", "https://*.example", "https://App.example")
        ),
        (
            {"REDIS_URL": "sentinel://a:26379"},
            "REDIS_URL must begin with redis:// or rediss://; Sentinel and Cluster are not supported",
        ),
        ({"PROVIDER_IDLE_SECONDS": "0"}, "PROVIDER_IDLE_SECONDS must be between 1 and 3600, not 0"),
        ({"EMAIL_USE_TLS": "maybe"}, "EMAIL_USE_TLS must be true or false, not 'maybe'"),
        (
            {"TOOLGATE_EGRESS_ALLOW": "10.0.0.1/8"},
            "TOOLGATE_EGRESS_ALLOW must list host names, addresses or CIDRs, not '10.0.0.1/8'",
        ),
        (
            {"TOOLGATE_EGRESS_ALLOW": "http://a"},
            "TOOLGATE_EGRESS_ALLOW must list host names, addresses or CIDRs, not 'http://a'",
        ),
        ({"EMAIL_PORT": "smtp"}, "EMAIL_PORT must be a whole number, not 'smtp'"),
        ({"EMAIL_FROM": "Toolgate"}, "EMAIL_FROM must look like Name <name@example.com>, not 'Toolgate'"),
        (
            {"EMAIL_FROM": "a@b.c\nBcc: d@e.f"},
            "EMAIL_FROM must look like Name <name@example.com>, not 'a@b.c\\nBcc: d@e.f'",
        ),
    ],
)
def test_a_wrong_setting_stops_the_start_with_one_line(environment: dict[str, str], line: str) -> None:
    assert refusal(**environment) == line


def test_an_empty_secret_is_read_from_its_file(tmp_path: Path) -> None:
    """As compose passes every name on, empty where nobody set it."""
    (tmp_path / "key").write_text("from a file\n")
    assert read("OPENAI_API_KEY", OPENAI_API_KEY="", OPENAI_API_KEY_FILE=str(tmp_path / "key")) == ["from a file"]
    assert read("OPENAI_API_KEY", OPENAI_API_KEY="given", OPENAI_API_KEY_FILE=str(tmp_path / "key")) == ["given"]
    assert read("OPENAI_API_KEY", OPENAI_API_KEY="", OPENAI_API_KEY_FILE="") == [""]


def test_the_demo_model_is_the_default_in_development_only() -> None:
    names = ("DEFAULT_MODEL", "SECURE_HSTS_SECONDS")
    production = {**PRODUCTION, "ALLOWED_HOSTS": "gate.example"}
    assert read(*names, DEFAULT_MODEL="") == ["offline/demo", 0]
    assert read(*names, **production, DEFAULT_MODEL="") == ["", 31_536_000]
    assert read(*names, **production, DEFAULT_MODEL="offline/demo", TOOLGATE_HSTS_SECONDS="0") == ["offline/demo", 0]
