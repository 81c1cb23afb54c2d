import asyncio
from collections.abc import Callable

import pytest

from gateway.providers import retry
from gateway.providers.errors import (
    ProviderError,
    ProviderGarbled,
    ProviderRateLimited,
    ProviderRefused,
    ProviderUnavailable,
)
from gateway.providers.interface import Answer, OnText, Prompt
from tests.gateway.providers.conftest import question
from tests.waiting import PATIENCE_SECONDS

RETRYABLE: list[Callable[[], ProviderError]] = [
    lambda: ProviderUnavailable("down", status=503),
    lambda: ProviderRateLimited("slow", status=429),
    lambda: ProviderGarbled("cut"),
]


class Scripted:
    """A provider that says a word and then fails or answers, as told."""

    name = "scripted"

    def __init__(self, *outcomes: ProviderError | Answer | None, says: str = ""):
        self.outcomes = list(outcomes)
        self.says = says
        self.asked = 0
        self.streamed: list[bool] = []

    async def ask(self, prompt: Prompt, on_text: OnText | None = None, on_opaque: object = None) -> Answer:
        self.asked += 1
        self.streamed.append(on_text is not None)
        if self.says and on_text is not None:
            on_text(self.says)
        outcome = self.outcomes.pop(0)
        if outcome is None:
            await asyncio.Event().wait()
        if isinstance(outcome, ProviderError):
            raise outcome
        assert outcome is not None
        return outcome

    async def close(self) -> None:
        pass


class Sleeps(list[float]):
    """Remembers how long it was asked to sleep, and does not."""

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


async def test_an_answer_is_returned_at_once() -> None:
    provider, sleeps = Scripted(Answer("Hi.")), Sleeps()
    assert await retry.ask(provider, question(), seconds=PATIENCE_SECONDS, sleep=sleeps) == Answer("Hi.")
    assert (provider.asked, sleeps, provider.streamed) == (1, [], [False])


@pytest.mark.parametrize("failure", RETRYABLE)
async def test_what_may_pass_is_tried_twice_more_with_growing_pauses(failure: Callable[[], ProviderError]) -> None:
    provider, sleeps = Scripted(failure(), failure(), Answer("Hi.")), Sleeps()
    assert await retry.ask(provider, question(), seconds=PATIENCE_SECONDS, sleep=sleeps) == Answer("Hi.")
    first, second = sleeps
    assert 0.25 <= first <= 0.5
    assert 0.5 <= second <= 1.0


@pytest.mark.parametrize("failure", RETRYABLE)
async def test_the_third_failure_is_raised(failure: Callable[[], ProviderError]) -> None:
    last = failure()
    provider, sleeps = Scripted(failure(), failure(), last, Answer("never")), Sleeps()
    with pytest.raises(ProviderError) as caught:
        await retry.ask(provider, question(), seconds=PATIENCE_SECONDS, sleep=sleeps)
    assert caught.value is last
    assert (provider.asked, len(sleeps)) == (3, 2)


async def test_a_refusal_is_raised_at_once() -> None:
    provider, sleeps = Scripted(ProviderRefused("no", status=400), Answer("never")), Sleeps()
    with pytest.raises(ProviderRefused):
        await retry.ask(provider, question(), seconds=PATIENCE_SECONDS, sleep=sleeps)
    assert (provider.asked, sleeps) == (1, [])


async def test_retry_after_is_honoured() -> None:
    provider, sleeps = Scripted(ProviderRateLimited("slow", retry_after=7.0), Answer("Hi.")), Sleeps()
    await retry.ask(provider, question(), seconds=PATIENCE_SECONDS, sleep=sleeps)
    assert len(sleeps) == 1
    assert 7.0 <= sleeps[0] <= 7.1


@pytest.mark.parametrize(("asked", "left"), [(7.0, 5.0), (retry.LONGEST_WAIT + 1, 1000.0)])
async def test_a_retry_after_that_does_not_fit_is_raised_at_once(asked: float, left: float) -> None:
    provider, sleeps = Scripted(ProviderRateLimited("slow", retry_after=asked), Answer("never")), Sleeps()
    with pytest.raises(ProviderRateLimited):
        await retry.ask(provider, question(), seconds=left, sleep=sleeps)
    assert (provider.asked, sleeps) == (1, [])


async def test_text_that_was_said_before_a_failure_is_voided_before_the_next_attempt() -> None:
    provider = Scripted(ProviderGarbled("cut"), ProviderGarbled("cut"), Answer("Hi."), says="H")
    shown: list[str] = []
    await retry.ask(
        provider,
        question(),
        shown.append,
        seconds=PATIENCE_SECONDS,
        on_restart=lambda: shown.append("void"),
        sleep=Sleeps(),
    )
    assert shown == ["H", "void", "H", "void", "H"]


async def test_nothing_is_voided_when_nothing_was_said() -> None:
    shown: list[str] = []
    provider = Scripted(ProviderUnavailable("down"), Answer("Hi."))
    await retry.ask(
        provider,
        question(),
        shown.append,
        seconds=PATIENCE_SECONDS,
        on_restart=lambda: shown.append("void"),
        sleep=Sleeps(),
    )
    assert shown == []
    assert provider.streamed == [True, True]


async def test_the_time_left_ends_a_question() -> None:
    provider = Scripted(None)
    with pytest.raises(asyncio.TimeoutError):
        await retry.ask(provider, question(), seconds=0.5)
    assert provider.asked == 1


async def test_the_time_left_is_shared_by_all_attempts() -> None:
    provider = Scripted(ProviderUnavailable("down"), None)
    with pytest.raises(asyncio.TimeoutError):
        await retry.ask(provider, question(), seconds=3, sleep=Sleeps())
    assert provider.asked == 2


@pytest.mark.parametrize("seconds", [0.0, -1.0])
async def test_without_time_left_nothing_is_asked(seconds: float) -> None:
    provider = Scripted(Answer("never"))
    with pytest.raises(asyncio.TimeoutError):
        await retry.ask(provider, question(), seconds=seconds)
    assert provider.asked == 0


async def test_a_cancellation_passes_and_is_not_retried() -> None:
    provider, sleeps = Scripted(None, Answer("never"), says="H"), Sleeps()
    said = asyncio.Event()
    asking = asyncio.create_task(
        retry.ask(provider, question(), lambda text: said.set(), seconds=PATIENCE_SECONDS, sleep=sleeps)
    )
    await said.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert (provider.asked, sleeps) == (1, [])


async def test_an_error_that_is_no_providers_crashes() -> None:
    class Broken(Scripted):
        async def ask(self, prompt: Prompt, on_text: OnText | None = None, on_opaque: object = None) -> Answer:
            self.asked += 1
            raise KeyError("bug")

    provider = Broken()
    with pytest.raises(KeyError):
        await retry.ask(provider, question(), seconds=PATIENCE_SECONDS, sleep=Sleeps())
    assert provider.asked == 1
