"""Every adapter, and the answer "Hi." as each provider gives it."""

from typing import Any

from gateway.providers.anthropic.provider import AnthropicProvider
from gateway.providers.gemini.provider import GeminiProvider
from gateway.providers.openai.provider import OpenAIProvider
from tests.gateway.providers.conftest import KEY
from tests.gateway.providers.fake import events
from tests.waiting import PATIENCE_SECONDS

Adapter = OpenAIProvider | AnthropicProvider | GeminiProvider
WHOLE: dict[str, Any] = {
    "openai": {"choices": [{"message": {"content": "Hi."}, "finish_reason": "stop"}]},
    "anthropic": {"content": [{"type": "text", "text": "Hi."}], "stop_reason": "end_turn"},
    "gemini": {"candidates": [{"content": {"parts": [{"text": "Hi."}]}, "finishReason": "STOP"}]},
}
STREAMED = {
    "openai": events({"choices": [{"delta": {"content": "Hi."}, "finish_reason": "stop"}]}, "[DONE]"),
    "anthropic": events(
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi."}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
        names=True,
    ),
    "gemini": events(WHOLE["gemini"]),
}
PROVIDERS = ["openai", "anthropic", "gemini"]


def adapter(name: str, url: str) -> Adapter:
    """The adapter to a provider at that URL."""
    if name == "openai":
        return OpenAIProvider(KEY, f"{url}/v1", silent_seconds=PATIENCE_SECONDS)
    made = AnthropicProvider if name == "anthropic" else GeminiProvider
    return made(KEY, url, silent_seconds=PATIENCE_SECONDS)
