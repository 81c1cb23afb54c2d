"""What the code asks for, what docker-compose.yml passes, what `.env.example` offers and what the manual explains."""

import json
import os
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from gateway.embedded.services.valkey import STORED
from tests import processes

ROOT = Path(__file__).resolve().parent.parent
# What the settings ask for, and what the tools that come with Toolgate declare.
ASKED = """
import json
import django
django.setup()
from gateway.process import environment
from tools.registry import registry
declared = {each.name for each in registry().declared_settings()}
print(json.dumps(sorted(environment.asked() | declared)))
"""
PROCESSES = ("setup", "backup", "web", "worker", "beat")
# Not for an operator to set.
INTERNAL = {"TOOLGATE_PROCESS"}
# What compose gives by other means: the image its data directory, the addresses those of its own services.
FROM_COMPOSE = {
    "TOOLGATE_ENV", "TOOLGATE_DATA_DIR", "HOST", "PORT", "REDIS_URL",
    "DATABASE_URL", "DATABASE_SYSTEM_URL", "DATABASE_OPERATOR_URL", "DATABASE_OWNER_URL",
}  # fmt: skip
# Of compose and of uvicorn, not of ours.
FOREIGN = {"FORWARDED_ALLOW_IPS"}
SECRET = re.compile(r"(_KEY|_KEYS|_PASSWORD)$")


@cache
def asked() -> frozenset[str]:
    """The settings that the code asks for, as a process that loads them counts."""
    done = processes.run([sys.executable, "-c", ASKED], cwd=ROOT, capture_output=True, check=True, env=os.environ)
    return frozenset(json.loads(done.stdout)) - INTERNAL


@cache
def services() -> dict[str, Any]:
    return dict(yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"])


def passed(*names: str) -> dict[str, str]:
    """What compose passes to these services, by name."""
    return {key: str(value) for name in names for key, value in services()[name]["environment"].items()}


def interpolated() -> set[str]:
    return set(re.findall(r"(?<!\$)\$\{([A-Z0-9_]+)", (ROOT / "docker-compose.yml").read_text()))


def offered() -> list[str]:
    return re.findall(r"^#?([A-Z0-9_]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE)


def explained() -> set[str]:
    """The names of the manual's table of the environment."""
    page = (ROOT / "docs" / "reference" / "settings.md").read_text()
    table = page[page.index("| name | default | |") : page.index("## E-mail")]
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    return {name for cell in cells for name in re.findall(r"`([A-Z0-9_]+)`", cell)}


def test_compose_passes_every_setting_of_the_code() -> None:
    assert asked() - set(passed(*PROCESSES)) - FROM_COMPOSE == set()


def test_compose_passes_nothing_that_the_code_does_not_ask_for() -> None:
    known = asked() | {f"{name}_FILE" for name in asked()} | FOREIGN | INTERNAL
    assert set(passed(*PROCESSES)) - known == set()


def test_every_process_gets_the_same_settings_but_for_what_only_one_may_hold() -> None:
    of_worker = {"TOOLGATE_LEDGER_KEY", "TOOLGATE_LEDGER_KEY_FILE", "TOOLGATE_CHECKPOINT_FILE", "TOOLGATE_WITNESS_URL"}
    of_web = {"WEB_CONCURRENCY", "FORWARDED_ALLOW_IPS"}
    alone = of_worker | of_web | {"TOOLGATE_PROCESS", "DATABASE_OWNER_URL", "TOOLGATE_KEEP_MONTHS"}
    shared = [passed(name).items() - {(key, passed(name).get(key)) for key in alone} for name in PROCESSES]
    assert all(each == shared[0] for each in shared)
    assert {name for name in PROCESSES if "DATABASE_OWNER_URL" in passed(name)} == {"setup", "backup"}
    assert {name for name in PROCESSES if "TOOLGATE_LEDGER_KEY" in passed(name)} == {"worker", "backup"}


def test_compose_takes_every_secret_of_the_code_from_a_file_too() -> None:
    secrets = {name for name in asked() if SECRET.search(name)}
    assert len(secrets) >= 9
    given = passed(*PROCESSES)
    for name in secrets:
        assert given[name] == f"${{{name}:-}}"
        assert given[f"{name}_FILE"] == f"${{{name}_FILE:-}}"
    mounted = [
        name for name in PROCESSES if any(":/run/secrets:ro" in str(each) for each in services()[name]["volumes"])
    ]
    assert mounted == list(PROCESSES)


def test_compose_starts_valkey_with_the_settings_that_make_up_gives_it() -> None:
    [*_, script] = services()["valkey"]["command"]
    said = [line for line in script.splitlines() if not line.startswith(("exec ", "requirepass ", "END"))]
    assert said == ['save ""', *STORED]


def test_the_example_offers_what_compose_takes_and_nothing_else() -> None:
    assert sorted(offered()) == sorted(interpolated())


def test_the_manual_explains_every_setting_and_no_other() -> None:
    assert explained() == asked()


def test_the_manual_names_what_only_compose_takes() -> None:
    page = (ROOT / "docs" / "reference" / "settings.md").read_text()
    own = {name for name in interpolated() if not name.endswith("_FILE")} - asked()
    assert [name for name in sorted(own) if f"`{name}`" not in page] == []
