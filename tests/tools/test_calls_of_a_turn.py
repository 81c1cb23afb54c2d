"""The calls of one turn before the gates: their limits are asked about in one round trip, and in their order."""

import asyncio
import uuid
from dataclasses import replace
from typing import Any

import pytest
from django.conf import settings
from django.test import override_settings
from redis import Redis

from audit.calls.proposing import NewCall
from tools.gates import order, policy, rate_counter
from tools.gates.interface import Caller, Rights
from tools.gates.policy import Setting
from tools.gates.rate_counter import LimitsUnavailable
from tools.interface import Tier
from tools.invocation import evaluation
from tools.invocation.evaluation import Suggestion
from tools.network.line import _Answers

NOTE = '{"title": "a", "content": "b"}'


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What goes over the connection to Redis that is shared, in its order."""
    seen: list[str] = []
    ask, give = _Answers.ask, _Answers._give

    def asked(self: _Answers, packed: bytes, seconds: float) -> asyncio.Future[Any]:
        seen.append("asked")
        return ask(self, packed, seconds)

    def given(self: _Answers, said: Any) -> None:
        seen.append("answered")
        give(self, said)

    monkeypatch.setattr(_Answers, "ask", asked)
    monkeypatch.setattr(_Answers, "_give", given)
    return seen


def _charge(**more: Any) -> dict[str, Any]:
    return {"tenant_id": uuid.uuid4(), "user_id": uuid.uuid4(), "tool": "save_note", "rate": "3/m"} | more


async def _evaluated(*suggestions: tuple[str, str], rate: str = "30/m") -> list[NewCall]:
    known = replace(policy.from_row(None, None), role="member", ceiling=Tier.ELEVATED)
    known = replace(known, settings={"save_note": Setting(rate=rate)})
    numbers = iter(range(1000))
    return await evaluation.evaluate(
        [Suggestion(*each) for each in suggestions],
        Rights(known, ()),
        Caller(uuid.uuid4(), uuid.uuid4()),
        earlier_failures={},
        most_seconds=30,
        gates=order.new_call(),
        new_id=lambda: uuid.UUID(int=next(numbers)),
    )


async def test_a_turns_calls_are_counted_in_one_round_trip_and_in_their_order(line: list[str]) -> None:
    await rate_counter.charge(**_charge())
    line.clear()
    calls = await _evaluated(*[("save_note", NOTE)] * 5, rate="3/m")
    assert [call.refusal and call.refusal.code for call in calls] == [None] * 3 + ["rate_limited"] * 2
    assert [call.decision[-2]["log"] for call in calls[:3]] == ["2 of 3 left", "1 of 3 left", "0 of 3 left"]
    assert [(call.position, call.id.int) for call in calls] == [(number, number) for number in range(5)]
    assert line == ["asked"] * 5 + ["answered"] * 5


async def test_a_wrong_call_counts_against_the_corrections_of_those_after_it_in_its_turn() -> None:
    calls = await _evaluated(("save_note", "{}"), ("save_note", NOTE), ("save_note", "{}"), ("save_note", "{}"))
    said = [call.refusal.message if call.refusal else "" for call in calls]
    alone = [(await _evaluated(("save_note", "{}")))[0].refusal]
    assert said[1] == ""
    assert alone[0] is not None
    assert said[0] == alone[0].message
    assert len({said[0], said[2], said[3]}) == 3


async def test_what_is_asked_together_is_asked_again_of_a_redis_that_forgot_the_script() -> None:
    charge = _charge()
    await rate_counter.charge(**charge)
    with Redis.from_url(settings.REDIS_URL) as redis:
        redis.script_flush()
    charges = await asyncio.gather(*(rate_counter.charge(**charge) for _ in range(4)))
    assert [(each.allowed, each.remaining) for each in charges] == [(True, 1), (True, 0), (False, 0), (False, 0)]


async def test_each_of_those_that_ask_together_is_told_that_redis_is_away() -> None:
    with override_settings(REDIS_URL="redis://127.0.0.1:1/0"):
        asked = [rate_counter.charge(**_charge()) for _ in range(3)]
        told = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(each) for each in told] == [LimitsUnavailable] * 3


async def test_one_that_is_cancelled_takes_no_answer_from_the_others() -> None:
    charge = _charge()
    await rate_counter.charge(**charge)
    first, second = (asyncio.create_task(rate_counter.charge(**charge)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    assert (await second).remaining == 0
    assert first.cancelled()
