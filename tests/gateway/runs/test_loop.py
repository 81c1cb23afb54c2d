"""The loop by itself, over ports that are played: how a run comes to its end, whatever the model does."""

from dataclasses import replace
from typing import Any

import pytest

from gateway.providers.errors import ProviderError, ProviderRateLimited
from gateway.providers.interface import Answer, ToolMessage, Unsupported, Usage
from gateway.providers.registry import UnknownModel
from gateway.runs import loop
from gateway.runs.execution import RunLost
from gateway.runs.rows import RunEnd
from tests.gateway.runs.ports import Model, PlayedPorts, calling, execution
from tools.gates.policy import Policy
from tools.offering import offer
from tools.offering.offer import Offer


def _failing(kind: type[ProviderError], message: str) -> ProviderError:
    error = kind(message)
    error.retryable = False
    return error


async def test_an_answer_without_calls_is_the_runs_last_turn() -> None:
    ports = PlayedPorts(Model(Answer("Hello.", usage=Usage(3, 4))))
    run = execution(ports)
    await loop.drive(run)
    assert ports.end == RunEnd("completed", "Hello.")
    assert (run.view.run.status, run.view.run.turns, run.view.last and run.view.last.text) == ("completed", 1, "Hello.")
    assert ports.done == [("turn", "Hello.", 0)]


async def test_what_calls_came_to_is_told_in_the_next_turn() -> None:
    model = Model(calling("save_note", text="Saving."), Answer("Saved."))
    ports = PlayedPorts(model)
    await loop.drive(execution(ports))
    assert ports.done == [("turn", "Saving.", 1), ("sent", "save_note"), ("turn", "Saved.", 0)]
    shown = model.asked[1].messages[-1]
    assert isinstance(shown, ToolMessage) and shown.content == '{"ok":true,"data":{}}'
    assert ports.end == RunEnd("completed", "Saved.")


async def test_what_the_model_is_offered_is_worked_out_once_for_the_same_rights(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Policy] = []

    def of_agent(policy: Policy, profile: dict[str, Any], *, demanded: frozenset[str]) -> Offer:
        asked.append(policy)
        return offer.of_agent(policy, profile, demanded=demanded)

    monkeypatch.setattr("gateway.runs.execution.of_agent", of_agent)
    model = Model(calling("save_note"), calling("save_note"), Answer("Saved."))
    run = execution(PlayedPorts(model))
    await loop.drive(run)
    assert [len(prompt.tools) for prompt in model.asked] == [len(model.asked[0].tools)] * 3
    assert len(asked) == 1 and run.known is not None
    run.known = replace(run.known, policy=replace(run.known.policy, agent_tools=frozenset()))
    assert run.offered(frozenset()).tools == ()


async def test_a_run_ends_incomplete_after_its_last_turn() -> None:
    ports = PlayedPorts(Model(calling("save_note"), calling("save_note", text="More.")))
    await loop.drive(execution(ports, max_turns=2))
    assert ports.end == RunEnd("incomplete", "More.", "max_turns")


async def test_an_answer_that_is_cut_off_at_its_tokens_is_incomplete() -> None:
    ports = PlayedPorts(Model(Answer("Hel", finish_reason="length")))
    await loop.drive(execution(ports))
    assert ports.end == RunEnd("incomplete", "Hel", "tokens")


async def test_a_run_without_time_asks_nobody() -> None:
    model = Model()
    ports = PlayedPorts(model)
    run = execution(ports, seconds=-1)
    await loop.drive(run)
    assert (model.asked, ports.done, run.view.turns) == ([], [], [])
    assert ports.end == RunEnd("incomplete", "", "time")


@pytest.mark.parametrize(
    ("error", "surface", "end"),
    [
        (_failing(ProviderError, "Down."), "", RunEnd.failed("provider_error", "Down.", 502)),
        (_failing(ProviderRateLimited, "Slow."), "", RunEnd.failed("provider_error", "Slow.", 429)),
        (Unsupported("No images."), "", RunEnd.failed("invalid_request", "No images.", 400)),
        (UnknownModel("No such model."), "", RunEnd.failed("unknown_model", "No such model.", 404)),
        (_failing(ProviderError, "Down."), "messages", RunEnd.failed("provider_error", "Down.", 502)),
    ],
    ids=lambda each: str(each)[:20],
)
async def test_what_the_model_cannot_do_ends_the_run(error: Exception, surface: str, end: RunEnd) -> None:
    ports = PlayedPorts(Model(error))
    run = execution(ports, surface=surface)
    await loop.drive(run)
    assert ports.end == end
    assert (run.view.turns, run.view.run.status, ports.done) == ([], "failed", [])


async def test_a_turn_of_more_calls_than_anybody_means_runs_none_of_them() -> None:
    ports = PlayedPorts(Model(calling(*["save_note"] * (loop.MOST_CALLS + 1))))
    await loop.drive(execution(ports))
    assert ports.end is not None
    assert (ports.end.status, ports.end.error_code, ports.end.error_status) == ("failed", "provider_error", 502)
    assert (ports.done, ports.calls) == ([], {})


async def test_text_that_postgresql_cannot_keep_is_replaced() -> None:
    ports = PlayedPorts(Model(Answer("a\x00b\ud800c")))
    await loop.drive(execution(ports))
    assert ports.end == RunEnd("completed", "a\ufffdb\ufffdc")


@pytest.mark.parametrize("answer", [Answer("Hello."), calling("save_note")])
async def test_a_run_that_somebody_else_has_is_left_alone(answer: Answer) -> None:
    ports = PlayedPorts(Model(answer), lost=True)
    run = execution(ports)
    with pytest.raises(RunLost):
        await loop.drive(run)
    assert (ports.calls, ports.end, run.view.run.status) == ({}, None, "in_progress")


@pytest.mark.parametrize(
    ("instructions", "with_tools", "system"),
    [("", False, ""), ("Be kind.", False, "Be kind."), ("", True, loop.SYSTEM), ("A", True, f"A\n\n{loop.SYSTEM}")],
)
def test_what_a_model_is_told_before_anything_else(instructions: str, with_tools: bool, system: Any) -> None:
    assert loop.system_of(instructions, with_tools) == system
