"""The log's figures at /metrics: what is there, what is unknown, and what an alert may ask for."""

import asyncio
import math
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.test import RequestFactory

from audit.log import keys
from audit.log.errors import WrongSigningKey
from audit.log.notes import Signer
from gateway.operations import metrics, sealing
from tests.audit import logs
from tests.database import rows
from tests.people import Cast, make_tenant
from tests.stack import ROOT, free_port
from tests.waiting import PATIENCE_SECONDS


@pytest.fixture(autouse=True)
def _own_log(tmp_path: Path) -> Iterator[None]:
    with logs.own_log(tmp_path):
        yield


@pytest.fixture
def people(_own_log: None) -> Cast:
    """A tenant in the log's own database."""
    return make_tenant()


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are waited for: on a busy machine one that takes longer than usual would be unknown."""
    monkeypatch.setattr(metrics, "_SECONDS", PATIENCE_SECONDS)


async def _figures() -> dict[str, float]:
    """The log's figures, by what follows `toolgate_ledger_`."""
    answer = await metrics.metrics(RequestFactory().get("/metrics"))
    found = re.findall(r"^toolgate_ledger_(\w+) (\S+)$", answer.content.decode(), re.MULTILINE)
    return {name: float(value) for name, value in found}


async def test_what_waits_is_counted_and_aged_until_it_is_sealed(people: Cast, patient: None) -> None:
    assert await _figures() == {"unsealed_entries": 0, "unsealed_age_seconds": 0, "log_size": 0, "sealing_refused": 0}
    await logs.write_calls(people.alice, 3)
    waiting = await _figures()
    [age] = rows("SELECT extract(epoch FROM clock_timestamp() - min(created_at))::float8 AS age FROM ledger_entries")
    assert (waiting["unsealed_entries"], waiting["log_size"]) == (6, 0)
    assert 0 < waiting["unsealed_age_seconds"] <= age["age"]
    assert await sealing.seal() is not None
    assert await _figures() == {"unsealed_entries": 0, "unsealed_age_seconds": 0, "log_size": 6, "sealing_refused": 0}


async def test_an_alarm_is_shown_until_sealing_goes_on_and_names_its_reason_in_the_log(
    people: Cast, patient: None, caplog: pytest.LogCaptureFixture
) -> None:
    await logs.write_calls(people.alice)
    await sealing.seal()
    own = keys.private_path().read_text()
    keys.private_path().write_text(Signer.generate(logs.verifiers()[0].name).to_text())
    with pytest.raises(WrongSigningKey) as refusal:
        await logs.seal()
    assert await sealing.seal() is None
    assert (await _figures())["sealing_refused"] == 1
    [record] = [each for each in caplog.records if each.message == "sealing refused"]
    assert vars(record)["reason"] == str(refusal.value)
    keys.private_path().write_text(own)
    await sealing.seal()
    assert (await _figures())["sealing_refused"] == 0


async def test_a_key_file_that_is_not_there_is_an_alarm_too(
    people: Cast, patient: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("TOOLGATE_LEDGER_KEY_FILE", "/nowhere/key")
    await logs.write_calls(people.alice)
    assert await sealing.seal() is None
    [record] = [each for each in caplog.records if each.message == "sealing refused"]
    assert vars(record)["reason"].startswith("TOOLGATE_LEDGER_KEY_FILE names /nowhere/key, which cannot be read")
    assert (await _figures())["sealing_refused"] == 1
    monkeypatch.delenv("TOOLGATE_LEDGER_KEY_FILE")
    assert await sealing.seal() is not None
    assert (await _figures())["sealing_refused"] == 0


async def test_what_cannot_be_measured_is_not_a_number(people: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    await logs.write_calls(people.alice)
    await sealing.seal()
    nowhere = f"127.0.0.1:{free_port()}"
    away = settings.DATABASE_URLS | {"system": f"postgresql://x:x@{nowhere}/x"}
    from tenants.scope import transactions
    from tools.network import redis

    await transactions.close_pools()
    await redis.close()
    monkeypatch.setattr(settings, "DATABASE_URLS", away)
    monkeypatch.setattr(settings, "REDIS_URL", f"redis://{nowhere}/0")
    async with asyncio.timeout(PATIENCE_SECONDS):
        figures = await _figures()
    assert set(figures) == {"unsealed_entries", "unsealed_age_seconds", "log_size", "sealing_refused"}
    assert all(math.isnan(value) for value in figures.values())


async def test_the_figures_of_a_long_wait_are_bounded(people: Cast, patient: None) -> None:
    logs.as_owner(
        "INSERT INTO ledger_entries (tenant_id, kind, version, commitment)"
        f" SELECT '{people.id}', 'read', 3, decode(repeat('00', 32), 'hex') FROM generate_series(1, 100100)"
    )
    assert (await _figures())["unsealed_entries"] == 100_000


def test_the_alerts_of_the_documents_ask_for_figures_that_exist() -> None:
    page = (ROOT / "docs" / "operations" / "monitoring.md").read_text()
    [alerts] = re.findall(r"<!-- example: alerts -->\n```yaml\n(.*?)```", page, re.DOTALL)
    asked = set(re.findall(r"toolgate_\w+", alerts))
    there = {"toolgate_ledger_" + name for name in asyncio.run(_figures_alone())}
    assert asked < there
    reference = (ROOT / "docs" / "reference" / "metrics.md").read_text()
    assert {name for name in there if f"`{name}`" not in reference} == set()


async def _figures_alone() -> dict[str, float]:
    from tenants.scope import transactions
    from tools.network import redis

    try:
        return await _figures()
    finally:
        await redis.close()
        await transactions.close_pools()
