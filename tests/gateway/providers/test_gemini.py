"""What becomes of Gemini's answers, over real HTTP, in the shapes that its API sends."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from gateway.providers.errors import ProviderGarbled, ProviderRateLimited, ProviderRefused, ProviderUnavailable
from gateway.providers.gemini.provider import GeminiProvider
from gateway.providers.interface import Answer, Opaque, Options, Prompt, SuggestedCall, Usage, UserMessage
from tests.gateway.providers.conftest import KEY, question, tool
from tests.gateway.providers.fake import FakeProvider, events
from tests.waiting import PATIENCE_SECONDS

COUNTS = {
    "promptTokenCount": 79,
    "candidatesTokenCount": 15,
    "totalTokenCount": 163,
    "cachedContentTokenCount": 64,
    "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 79}],
    "thoughtsTokenCount": 69,
    "serviceTier": "standard",
}
USAGE = Usage(79, 84, 64, 69)
# A call as Gemini 3 streams it: whole, signed, and before an empty text with the finish reason.
SIGNED_CALL = rb"""data: {"candidates": [{"content": {"parts": [{"functionCall": {"name": "svc__find","args": {"query": "tea","n": 1e2}},"thoughtSignature": "Et8ECtwEAXLI2nyCB1jKZUE4"},{"functionCall": {"name": "svc__find","args": {}}}],"role": "model"},"index": 0}],"usageMetadata": {"promptTokenCount": 79,"candidatesTokenCount": 15,"totalTokenCount": 163,"thoughtsTokenCount": 69},"modelVersion": "gemini-3-pro-preview","responseId": "SVV8aY6uBqe6qtsP"}

data: {"candidates": [{"content": {"parts": [{"text": ""}],"role": "model"},"finishReason": "STOP","index": 0}],"usageMetadata": {"promptTokenCount": 79,"candidatesTokenCount": 15,"totalTokenCount": 163,"cachedContentTokenCount": 64,"thoughtsTokenCount": 69},"modelVersion": "gemini-3-pro-preview","responseId": "SVV8aY6uBqe6qtsP"}

""".replace(b"\n", b"\r\n")  # noqa: E501


@pytest.fixture
async def gemini(fake: FakeProvider) -> AsyncIterator[GeminiProvider]:
    provider = GeminiProvider(KEY, fake.url, silent_seconds=PATIENCE_SECONDS)
    yield provider
    await provider.close()


def body(*parts: Any, finish: str | None = "STOP", **more: Any) -> dict[str, Any]:
    """A response of these parts, or a piece of a streamed one."""
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    return {"candidates": [candidate | ({"finishReason": finish} if finish else {})], **more}


def call(name: str, **more: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {}, **more}}


async def test_a_whole_answer_has_its_text_finish_reason_and_usage(fake: FakeProvider, gemini: GeminiProvider) -> None:
    fake.json(body({"text": "Hi."}, {"text": " Bye."}, usageMetadata=COUNTS))
    assert await gemini.ask(question()) == Answer("Hi. Bye.", (), "stop", USAGE)


async def test_a_question_goes_to_its_models_own_address_with_the_key_in_a_header(
    fake: FakeProvider, gemini: GeminiProvider
) -> None:
    fake.json(body({"text": "Hi."}))
    fake.stream(events(body({"text": "Hi."})))
    fake.json(body({"text": "Hi."}))
    fake.json(body({"text": "Hi."}))
    await gemini.ask(question(model="gemini-2.5-pro"))
    await gemini.ask(question(model="tunedModels/mine"), lambda text: None)
    await gemini.ask(question(model="../../upload/x?key=y#z\ud800"))
    await gemini.ask(question(model="models/a/b"))
    assert [asked.path for asked in fake.asked] == [
        "/v1beta/models/gemini-2.5-pro:generateContent",
        "/v1beta/tunedModels/mine:streamGenerateContent",
        "/v1beta/models/../../upload/x?key=y#z?:generateContent",
        "/v1beta/models/models/a/b:generateContent",
    ]
    assert {asked.headers["x-goog-api-key"] for asked in fake.asked} == {KEY}
    assert "google-genai-sdk" in fake.asked[0].headers["x-goog-api-client"]


async def test_a_streamed_answer_is_the_sum_of_its_pieces(fake: FakeProvider, gemini: GeminiProvider) -> None:
    whole = events(
        body({"text": "Grüß "}, finish=None, usageMetadata={"promptTokenCount": 79}),
        body({"text": "dich"}, finish=None),
        body({"text": ""}, usageMetadata=COUNTS),
    )
    fake.stream(*(whole[at : at + 1] for at in range(len(whole))))
    heard: list[str] = []
    assert await gemini.ask(question(), heard.append) == Answer("Grüß dich", (), "stop", USAGE)
    assert heard == ["Grüß ", "dich"]


async def test_text_is_passed_on_while_the_answer_is_still_coming(fake: FakeProvider, gemini: GeminiProvider) -> None:
    fake.stream(events(body({"text": "Hel"}, finish=None)), hang=True)
    heard: asyncio.Queue[str] = asyncio.Queue()
    asking = asyncio.create_task(gemini.ask(question(), heard.put_nowait))
    assert await heard.get() == "Hel"
    assert not asking.done()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


async def test_a_streamed_call_comes_with_its_signature(fake: FakeProvider, gemini: GeminiProvider) -> None:
    fake.stream(SIGNED_CALL)
    answer = await gemini.ask(question(tool("svc.find")), lambda text: None)
    first, second = answer.calls
    assert (first.name, first.arguments) == ("svc.find", '{"query": "tea","n": 1e2}')
    assert (second.name, second.arguments) == ("svc.find", "{}")
    assert first.id != second.id
    assert answer.opaque == (Opaque("gemini", {"call": 0, "thoughtSignature": "Et8ECtwEAXLI2nyCB1jKZUE4"}),)
    assert (answer.text, answer.finish_reason, answer.usage) == ("", "tool_calls", USAGE)


async def test_arguments_come_out_exactly_as_sent(fake: FakeProvider, gemini: GeminiProvider) -> None:
    raw = b'{"a": 1, "a": 1e2, "args": {"}": NaN}, "big": ' + b"9" * 5000 + b', "d": ' + b"[" * 50_000 + b"]" * 50_000
    fake.json(
        b'{"candidates": [{"content": {"parts": [{"text": "\\"args\\": {"}, {"functionCall": {"id": "x7", "name": "t", "args" : '  # noqa: E501
        + raw
        + b'}}}, {"functionCall": {"name": "u"}}]}, "finishReason": "STOP"}]}'
    )
    answer = await gemini.ask(question())
    assert answer.text == '"args": {'
    assert answer.calls[0] == SuggestedCall("x7", "t", raw.decode() + "}")
    assert (answer.calls[1].name, answer.calls[1].arguments) == ("u", "{}")


async def test_thoughts_are_not_text_and_what_is_signed_or_unknown_is_kept(
    fake: FakeProvider, gemini: GeminiProvider
) -> None:
    picture = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
    signed = {"text": "b", "thoughtSignature": "c2ln"}
    fake.stream(
        events(
            body({"text": "Hm.", "thought": True}, {"text": "a"}, finish=None),
            body(signed, {"text": "c"}, picture, {}, finish=None),
            body({"text": "", "thoughtSignature": "ZW5k"}),
        )
    )
    heard: list[str] = []
    seen: list[Opaque] = []
    answer = await gemini.ask(question(), heard.append, seen.append)
    kept = tuple(Opaque("gemini", raw) for raw in (signed, picture, {"text": "", "thoughtSignature": "ZW5k"}))
    assert answer == Answer("abc", (), "stop", Usage(), opaque=kept)
    assert heard == ["a", "b", "c"]
    assert tuple(seen) == kept


async def test_one_call_at_a_time_is_the_first_of_several(fake: FakeProvider, gemini: GeminiProvider) -> None:
    signed = [{**call(name), "thoughtSignature": name} for name in "ab"]
    fake.json(body(*signed))
    options = Options(parallel_tool_calls=False)
    answer = await gemini.ask(Prompt("m", (UserMessage("hi"),), tools=(tool("a"), tool("b")), options=options))
    assert [call.name for call in answer.calls] == ["a"]
    assert [part.raw for part in answer.opaque] == [{"call": 0, "thoughtSignature": "a"}]


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "content_filter"),
        ("RECITATION", "content_filter"),
        ("PROHIBITED_CONTENT", "content_filter"),
        ("SPII", "content_filter"),
        ("IMAGE_SAFETY", "content_filter"),
        ("OTHER", "stop"),
    ],
)
async def test_finish_reasons_are_translated(fake: FakeProvider, gemini: GeminiProvider, said: str, meant: str) -> None:
    fake.json(body({"text": "Hi."}, finish=said))
    assert (await gemini.ask(question())).finish_reason == meant


async def test_a_prompt_that_is_blocked_is_filtered(fake: FakeProvider, gemini: GeminiProvider) -> None:
    fake.json({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 4}})
    assert await gemini.ask(question()) == Answer("", (), "content_filter", Usage(4))


@pytest.mark.parametrize("reason", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE"])
async def test_a_call_that_the_model_got_wrong_is_worth_asking_again(
    fake: FakeProvider, gemini: GeminiProvider, reason: str
) -> None:
    fake.json(body(finish=reason))
    with pytest.raises(ProviderGarbled) as caught:
        await gemini.ask(question())
    assert caught.value.message == f"The model's tool call went wrong ({reason})."


async def test_a_missing_signature_is_not_worth_asking_again(fake: FakeProvider, gemini: GeminiProvider) -> None:
    fake.json(body(finish="MISSING_THOUGHT_SIGNATURE"))
    with pytest.raises(ProviderRefused):
        await gemini.ask(question())


@pytest.mark.parametrize(
    "part", [1, None, "text", {"functionCall": "f"}, {"functionCall": []}], ids=lambda part: repr(part)
)
async def test_a_part_that_cannot_be_read_is_garbled(fake: FakeProvider, gemini: GeminiProvider, part: object) -> None:
    fake.json(body(part))
    with pytest.raises(ProviderGarbled):
        await gemini.ask(question())


@pytest.mark.parametrize(
    "given",
    [
        b'{"candidates": [{"content": {"parts": [{"text": "Hi."}]}}]}',
        b'{"candidates": [{"content": {"parts": 1}}]}',
        b'{"candidates": [1]}',
        b'{"candidates": {}}',
        b'[{"candidates": []}]',
    ],
)
async def test_an_answer_without_a_finish_reason_is_garbled(
    fake: FakeProvider, gemini: GeminiProvider, given: bytes
) -> None:
    fake.json(given)
    with pytest.raises(ProviderGarbled):
        await gemini.ask(question())


async def test_a_kept_part_that_could_not_be_written_again_is_garbled(
    fake: FakeProvider, gemini: GeminiProvider
) -> None:
    deep = b'{"x":' * 2000 + b"1" + b"}" * 2000
    fake.json(b'{"candidates": [{"content": {"parts": [' + deep + b']}, "finishReason": "STOP"}]}')
    with pytest.raises(ProviderGarbled):
        await gemini.ask(question())


def failed(code: int, status: str, *details: dict[str, Any], message: str = "No.") -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "status": status, "details": list(details)}}


RETRY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}


@pytest.mark.parametrize("streaming", [False, True])
async def test_the_delay_that_a_429_asks_for_is_told(
    fake: FakeProvider, gemini: GeminiProvider, streaming: bool
) -> None:
    report = failed(429, "RESOURCE_EXHAUSTED", {"@type": "x"}, RETRY)
    fake.json([report] if streaming else report, 429)
    with pytest.raises(ProviderRateLimited) as caught:
        await gemini.ask(question(), (lambda text: None) if streaming else None)
    assert (caught.value.status, caught.value.retry_after) == (429, 34.5)
    assert len(fake.asked) == 1


async def test_an_invalid_key_is_a_matter_of_the_configuration(fake: FakeProvider, gemini: GeminiProvider) -> None:
    info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
    fake.json(failed(400, "INVALID_ARGUMENT", info, message=f"API key not valid: {KEY}"), 400)
    with pytest.raises(ProviderRefused) as caught:
        await gemini.ask(question())
    assert caught.value.message == "gemini does not accept the configured credentials (HTTP 400)."


@pytest.mark.parametrize("report", [b"[]", b"[1]", b'"no"', b"\xff", b'{"error": 1}', b'{"error": {"details": [1]}}'])
async def test_a_failure_that_explains_itself_badly_is_still_one(
    fake: FakeProvider, gemini: GeminiProvider, report: bytes
) -> None:
    fake.json(report, 400)
    with pytest.raises(ProviderRefused) as caught:
        await gemini.ask(question())
    assert caught.value.message == "gemini refused the request (HTTP 400)."


async def test_an_error_in_the_middle_of_a_stream_counts_as_one(fake: FakeProvider, gemini: GeminiProvider) -> None:
    fake.stream(events(body({"text": "Hel"}, finish=None), failed(503, "UNAVAILABLE")))
    heard: list[str] = []
    with pytest.raises(ProviderUnavailable):
        await gemini.ask(question(), heard.append)
    assert heard == ["Hel"]


async def test_one_connection_serves_one_call_after_another(fake: FakeProvider, gemini: GeminiProvider) -> None:
    fake.json(body({"text": "Hi."}))
    fake.stream(events(body({"text": "Hi."})))
    fake.json(failed(400, "INVALID_ARGUMENT"), 400)
    fake.json(body({"text": "Hi."}))
    await gemini.ask(question())
    await gemini.ask(question(), lambda text: None)
    with pytest.raises(ProviderRefused, match="No\\."):
        await gemini.ask(question())
    await gemini.ask(question())
    assert len(fake.asked) == 4
    assert len(fake.connections) == 1


async def test_a_closed_provider_holds_no_connection(fake: FakeProvider) -> None:
    fake.json(body({"text": "Hi."}))
    provider = GeminiProvider(KEY, fake.url)
    await provider.ask(question())
    session = provider._upstream._connections.session
    await provider.close()
    assert session.closed


async def test_settings_of_googles_own_change_nothing(fake: FakeProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_ENTERPRISE"):
        monkeypatch.setenv(name, "true")
    monkeypatch.setenv("GOOGLE_API_KEY", "another")
    monkeypatch.setenv("GOOGLE_GENAI_API_VERSION", "v9")
    fake.json(body({"text": "Hi."}))
    provider = GeminiProvider(KEY, fake.url)
    await provider.ask(question())
    await provider.close()
    assert fake.asked[0].path == "/v1beta/models/m:generateContent"
    assert fake.asked[0].headers["x-goog-api-key"] == KEY
