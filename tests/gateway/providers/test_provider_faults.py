"""What every adapter makes of a provider that fails, over real HTTP."""

import asyncio
import traceback
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from gateway.providers.anthropic.provider import AnthropicProvider
from gateway.providers.errors import (
    ProviderError,
    ProviderGarbled,
    ProviderMisconfigured,
    ProviderRateLimited,
    ProviderRefused,
    ProviderUnavailable,
)
from gateway.providers.gemini.provider import GeminiProvider
from gateway.providers.interface import OnText, Provider
from gateway.providers.openai.provider import OpenAIProvider
from gateway.providers.transport.failures import Failures
from gateway.providers.transport.upstream import FellSilent, limited
from tests.gateway.providers.conftest import KEY, question
from tests.gateway.providers.fake import FakeProvider, events
from tests.stack import free_port
from tests.waiting import PATIENCE_SECONDS

# For a provider that is meant to be silent; any other is waited for.
SILENT_SECONDS = 0.3
OPENAI_TEXT = {"choices": [{"index": 0, "delta": {"content": "Hel"}}]}
ANTHROPIC_TEXT = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hel"}}
GEMINI_TEXT = {"candidates": [{"content": {"parts": [{"text": "Hel"}], "role": "model"}, "index": 0}]}
TEXT = {"openai": OPENAI_TEXT, "anthropic": ANTHROPIC_TEXT, "gemini": GEMINI_TEXT}


@pytest.fixture(params=["openai", "anthropic", "gemini"])
async def provider(request: pytest.FixtureRequest, fake: FakeProvider) -> AsyncIterator[Provider]:
    made = adapter(request.param, fake, PATIENCE_SECONDS)
    yield made
    await made.close()


@pytest.fixture
async def hasty(provider: Provider, fake: FakeProvider) -> AsyncIterator[Provider]:
    """The same, which waits for SILENT_SECONDS only."""
    made = adapter(provider.name, fake, SILENT_SECONDS)
    yield made
    await made.close()


def adapter(name: str, fake: FakeProvider, seconds: float) -> OpenAIProvider | AnthropicProvider | GeminiProvider:
    if name == "openai":
        return OpenAIProvider(KEY, f"{fake.url}/v1", silent_seconds=seconds)
    made = AnthropicProvider if name == "anthropic" else GeminiProvider
    return made(KEY, fake.url, silent_seconds=seconds)


@pytest.fixture(params=[None, lambda text: None], ids=["whole", "streamed"])
def on_text(request: pytest.FixtureRequest) -> OnText | None:
    listener: OnText | None = request.param
    return listener


def begun(provider: Provider) -> bytes:
    return events(TEXT[provider.name], names=provider.name == "anthropic")


def connections(provider: Provider) -> object:
    """Those that are in use."""
    assert isinstance(provider, OpenAIProvider | AnthropicProvider | GeminiProvider)
    connector = provider._upstream._connections.session.connector
    return connector._acquired  # type: ignore[union-attr]


async def failure(provider: Provider, on_text: OnText | None = None) -> ProviderError:
    """The error that asking ends in; it holds no secret, whichever way it is printed."""
    with pytest.raises(ProviderError) as caught:
        await provider.ask(question(), on_text)
    error = caught.value
    assert error.__cause__ is None
    assert error.__context__ is None
    shown = str(error) + repr(error) + "".join(traceback.format_exception(error)) + repr(provider)
    assert KEY not in shown
    assert "127.0.0.1" not in shown
    assert "Bearer" not in shown
    return error


async def test_429_says_when_to_ask_again(fake: FakeProvider, provider: Provider, on_text: OnText | None) -> None:
    fake.json({"error": {"message": "slow down"}}, 429, {"Retry-After": "7"})
    error = await failure(provider, on_text)
    assert type(error) is ProviderRateLimited
    assert (error.status, error.retry_after) == (429, 7.0)
    assert str(error) == f"{provider.name} asks to slow down (HTTP 429)."
    assert len(fake.asked) == 1


async def test_retry_after_may_be_a_date(fake: FakeProvider, provider: Provider) -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    fake.json({"error": {}}, 429, {"Retry-After": later})
    error = await failure(provider)
    assert error.retry_after is not None
    assert 3000 < error.retry_after <= 3600


@pytest.mark.parametrize("said", ["soon", "-3", "nan", "inf", "Thu, 99 Foo 2026"])
async def test_a_strange_retry_after_does_no_harm(fake: FakeProvider, provider: Provider, said: str) -> None:
    fake.json({"error": {}}, 429, {"Retry-After": said})
    assert (await failure(provider)).retry_after in (None, 0.0)


@pytest.mark.parametrize("status", [500, 502, 503, 529, 408])
async def test_5xx_is_worth_asking_again_but_not_here(
    fake: FakeProvider, provider: Provider, on_text: OnText | None, status: int
) -> None:
    fake.page("<html><h1>Bad Gateway</h1></html>", status)
    error = await failure(provider, on_text)
    assert type(error) is ProviderUnavailable
    assert str(error) == f"{provider.name} cannot answer now (HTTP {status})."
    assert error.status == status
    assert len(fake.asked) == 1


async def test_wrong_credentials_are_refused_without_quoting_them(fake: FakeProvider, provider: Provider) -> None:
    fake.json({"error": {"message": f"Incorrect API key provided: {KEY[:12]}***"}}, 401)
    error = await failure(provider)
    assert type(error) is ProviderMisconfigured
    assert str(error) == f"{provider.name} does not accept the configured credentials (HTTP 401)."


async def test_the_explanation_of_a_refusal_is_told_without_secrets(fake: FakeProvider, provider: Provider) -> None:
    fake.json(
        {
            "error": {
                "message": f"No model\n'x' for {KEY} (sk-other-12345) at {fake.url}/v1, Authorization: Bearer {KEY}"
            }
        },
        404,
    )
    error = await failure(provider)
    assert type(error) is ProviderRefused
    assert error.retryable is False
    assert str(error) == f"{provider.name} refused the request (HTTP 404): No model 'x' for … (…) at … Authorization: …"


async def test_a_key_of_no_known_form_is_in_no_explanation() -> None:
    failures = Failures("Theirs", ("Zx81 key of their own", ""))
    error = failures.of_status(400, {}, {"error": {"message": "Zx81 key of their own may not do that"}})
    assert str(error) == "Theirs refused the request (HTTP 400): … may not do that"


async def test_a_long_explanation_is_cut(fake: FakeProvider, provider: Provider) -> None:
    fake.json({"error": {"message": "x" * 5000}}, 400)
    assert str(await failure(provider)) == f"{provider.name} refused the request (HTTP 400): {'x' * 200}"


async def test_a_page_is_no_explanation(fake: FakeProvider, provider: Provider) -> None:
    fake.page("<html>secret</html>", 404)
    assert str(await failure(provider)) == f"{provider.name} refused the request (HTTP 404)."


async def test_no_redirect_is_followed(fake: FakeProvider, provider: Provider) -> None:
    fake.redirect(f"{fake.url}/elsewhere")
    error = await failure(provider)
    assert type(error) is ProviderRefused
    assert error.status == 307
    assert len(fake.asked) == 1


@pytest.mark.parametrize(
    "body", [b"", b"{", b"null", b"[]", b"{}", b'{"choices": []}', b'{"content": 1}', b'{"choices": [{"message": 1}]}']
)
async def test_garbage_is_garbled(fake: FakeProvider, provider: Provider, on_text: OnText | None, body: bytes) -> None:
    fake.json(body)
    assert type(await failure(provider, on_text)) is ProviderGarbled


async def test_a_page_with_status_200_is_garbled(
    fake: FakeProvider, provider: Provider, on_text: OnText | None
) -> None:
    fake.page("<html>Please log in to the hotel's network</html>")
    assert type(await failure(provider, on_text)) is ProviderGarbled


@pytest.mark.parametrize(
    ("report", "kind"),
    [
        ({"type": "overloaded_error", "message": "Overloaded"}, ProviderUnavailable),
        ({"type": "rate_limit_error", "message": "slow"}, ProviderRateLimited),
        ({"type": "invalid_request_error", "message": "too long"}, ProviderRefused),
        ({"code": 429, "message": "slow"}, ProviderRateLimited),
        ({"code": 503, "message": "down"}, ProviderUnavailable),
        ("out of memory", ProviderUnavailable),
    ],
)
async def test_an_error_inside_an_answer_counts_as_one(
    fake: FakeProvider, provider: Provider, on_text: OnText | None, report: object, kind: type[ProviderError]
) -> None:
    if on_text is None:
        fake.json({"type": "error", "error": report})
    else:
        fake.stream(begun(provider) + events({"type": "error", "error": report}, names=True))
    assert type(await failure(provider, on_text)) is kind


async def test_a_stream_that_ends_without_a_finish_reason_is_an_error(fake: FakeProvider, provider: Provider) -> None:
    fake.stream(begun(provider))
    heard: list[str] = []
    assert type(await failure(provider, heard.append)) is ProviderGarbled
    assert heard == ["Hel"]


async def test_a_stream_that_says_it_is_done_without_a_finish_reason_is_an_error(
    fake: FakeProvider, provider: Provider
) -> None:
    fake.stream(begun(provider) + events("[DONE]"))
    assert type(await failure(provider, lambda text: None)) is ProviderGarbled


async def test_a_cut_stream_is_an_error(fake: FakeProvider, provider: Provider) -> None:
    fake.stream(begun(provider), cut=True)
    heard: list[str] = []
    error = await failure(provider, heard.append)
    assert type(error) is ProviderUnavailable
    assert str(error) == f"{provider.name} could not be reached, or the connection was lost."
    assert heard == ["Hel"]


async def test_a_chunk_that_is_no_json_is_garbled(fake: FakeProvider, provider: Provider) -> None:
    fake.stream(begun(provider) + b"data: {broken\n\n")
    assert type(await failure(provider, lambda text: None)) is ProviderGarbled


async def test_a_provider_that_never_answers_is_unavailable(
    fake: FakeProvider, hasty: Provider, on_text: OnText | None
) -> None:
    fake.silent()
    error = await failure(hasty, on_text)
    assert type(error) is ProviderUnavailable
    assert str(error) == f"{hasty.name} did not answer in time."


async def test_a_stream_that_falls_silent_is_unavailable(fake: FakeProvider, hasty: Provider) -> None:
    fake.stream(begun(hasty), hang=True)
    error = await failure(hasty, lambda text: None)
    assert str(error) == f"{hasty.name} did not answer in time."


@pytest.mark.parametrize("made", [OpenAIProvider, AnthropicProvider, GeminiProvider])
async def test_an_answer_that_stalls_after_its_first_byte_is_unavailable_long_before_one_that_never_began(
    fake: FakeProvider, made: type[OpenAIProvider | AnthropicProvider | GeminiProvider], on_text: OnText | None
) -> None:
    base = f"{fake.url}/v1" if made is OpenAIProvider else fake.url
    provider = made(KEY, base, silent_seconds=3600, idle_seconds=0.3)
    if on_text is None:
        fake.stalled_json(b'{"id": ')
    else:
        fake.stream(begun(provider), hang=True)
    error = await failure(provider, on_text)
    assert type(error) is ProviderUnavailable
    assert str(error) == f"{provider.name} fell silent in the middle of its answer, for 0.3 seconds."
    assert not connections(provider)
    await provider.close()


class _Arriving:
    """A response's body of which these pieces have come."""

    def __init__(self, *pieces: bytes):
        self._pieces = list(pieces)

    def read_nowait(self) -> bytes:
        return self._pieces.pop(0) if self._pieces else b""

    def at_eof(self) -> bool:
        return False

    async def readany(self) -> bytes:
        raise NotImplementedError


async def test_the_bound_between_bytes_begins_with_the_first_one() -> None:
    more = asyncio.Event()

    class Slow(_Arriving):
        async def readany(self) -> bytes:
            await more.wait()
            more.clear()
            return b"first"

    # With a bound of no time at all, whatever is bounded is late.
    chunks = limited(Slow(), 0)
    first = asyncio.ensure_future(anext(chunks))
    for _ in range(10):
        await asyncio.sleep(0)
    assert not first.done()
    more.set()
    assert await first == b"first"
    with pytest.raises(FellSilent):
        await anext(chunks)


@pytest.mark.parametrize("made", [OpenAIProvider, AnthropicProvider, GeminiProvider])
async def test_a_port_where_nobody_listens_is_unavailable(
    made: type[OpenAIProvider | AnthropicProvider | GeminiProvider],
) -> None:
    provider = made(KEY, f"http://127.0.0.1:{free_port()}")
    error = await failure(provider)
    await provider.close()
    assert type(error) is ProviderUnavailable
    assert str(error) == f"{provider.name} could not be reached, or the connection was lost."


async def test_a_cancelled_question_lets_go_of_its_connection(fake: FakeProvider, provider: Provider) -> None:
    fake.silent()
    asking = asyncio.create_task(provider.ask(question()))
    await fake.received.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert not connections(provider)


async def test_an_endless_answer_is_given_up(
    fake: FakeProvider, provider: Provider, on_text: OnText | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.providers.transport.upstream.LONGEST_ANSWER", 1000)
    if on_text is None:
        fake.json(b" " * 1001)
    else:
        fake.stream(b": nothing\n" * 101)
    error = await failure(provider, on_text)
    assert type(error) is ProviderGarbled
    assert str(error) == "The provider's answer is longer than 1000 bytes."


async def test_what_the_listener_raises_is_not_mistaken_for_the_providers_failure(
    fake: FakeProvider, provider: Provider
) -> None:
    fake.stream(begun(provider))

    def burst(text: str) -> None:
        raise ValueError(text)

    with pytest.raises(ValueError, match="Hel"):
        await provider.ask(question(), burst)


async def test_what_has_come_of_an_answer_is_read_without_a_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ended(_Arriving):
        def at_eof(self) -> bool:
            return not self._pieces

        async def readany(self) -> bytes:
            assert self.at_eof()
            return b""

    monkeypatch.setattr(asyncio, "timeout", None)
    assert [chunk async for chunk in limited(Ended(b"first", b"second"), 0)] == [b"first", b"second"]
