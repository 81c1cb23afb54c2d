from typing import Any

import pytest

from gateway.providers.interface import Family, Opaque, Options, Text, Unsupported
from gateway.providers.translation import compatibility


@pytest.mark.parametrize(
    "extra",
    [
        {"user": "ada", "metadata": {"a": "b"}, "store": True, "service_tier": "flex", "seed": 7},
        {"prompt_cache_key": "k", "safety_identifier": "s", "stream_options": {"include_obfuscation": False}},
        {"frequency_penalty": 0, "presence_penalty": 0.0, "logprobs": False, "logit_bias": {}, "modalities": ["text"]},
        {"thinking": {"type": "disabled"}, "top_k": None},
    ],
)
def test_what_changes_nothing_of_the_answer_is_left_out(extra: dict[str, Any]) -> None:
    assert compatibility.fields(Options(family="openai", extra=extra), "anthropic") == {}


@pytest.mark.parametrize(
    "extra",
    [
        {"logprobs": True},
        {"frequency_penalty": 0.5},
        {"modalities": ["text", "audio"]},
        {"logit_bias": {"1": 2}},
        {"reasoning_effort": "low"},
        {"thinking": {"type": "enabled", "budget_tokens": 1024}},
        {"top_k": 5},
        {"something_new": {}},
    ],
)
def test_what_would_change_the_answer_is_refused_by_name(extra: dict[str, Any]) -> None:
    with pytest.raises(Unsupported) as refused:
        compatibility.fields(Options(family="openai", extra={"user": "ada"} | extra), "anthropic")
    assert refused.value.field == next(iter(extra))


@pytest.mark.parametrize("family", ["openai", "anthropic", "gemini"])
def test_within_a_family_everything_stays_as_it_was(family: Family) -> None:
    extra = {"logprobs": True, "user": "ada", "something_new": {}}
    part = Opaque(family, {"type": "document"})
    assert compatibility.fields(Options(family=family, extra=extra), family) == extra
    assert compatibility.extra(family, extra, family) == extra
    assert compatibility.parts([part, Text("a")], family) == [part, Text("a")]


def test_thoughts_stay_with_the_model_that_had_them() -> None:
    thoughts: list[Opaque | Text] = [
        Opaque("anthropic", {"type": "thinking", "thinking": "Hm.", "signature": "s"}),
        Opaque("anthropic", {"type": "redacted_thinking", "data": "d"}),
        Opaque("gemini", {"thoughtSignature": "c2ln"}),
        Text("a"),
    ]
    assert compatibility.parts(thoughts, "openai") == [Text("a")]
    assert compatibility.extra("anthropic", {"x": 1}, "openai") == {}


def test_other_parts_of_another_family_are_refused_by_name() -> None:
    with pytest.raises(Unsupported, match="input_audio"):
        compatibility.parts([Opaque("openai", {"type": "input_audio"})], "anthropic")
