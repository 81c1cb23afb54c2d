"""Access to Gemini's API through the official SDK's client.

The SDK knows credentials, headers and URLs. Sending is our own: the SDK's would ask again by itself, read answers of
any length, and parse arguments that must stay as the model wrote them.
"""

from collections.abc import Mapping
from typing import Any

from google import genai
from google.genai import types
from yarl import URL

from gateway.providers.errors import ProviderError, ProviderMisconfigured
from gateway.providers.transport import streams
from gateway.providers.transport.connections import Target
from gateway.providers.transport.upstream import Exchange, unsent

_VERSION = "v1beta"
_RAW_ARGS = streams.raw_member(b"args")
_RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo"


class GeminiUpstream(Exchange):
    """Gemini's API at `base_url`, which holds no version; by default Google's own."""

    def __init__(
        self,
        name: str,
        api_key: str,
        base_url: str | None,
        *,
        silent_seconds: float,
        idle_seconds: float,
        guarded: bool = False,
    ):
        self._http = unsent(silent_seconds)
        options = types.HttpOptions(base_url=base_url, api_version=_VERSION, httpx_async_client=self._http)
        self._client = genai.Client(vertexai=False, api_key=api_key, http_options=options)
        self._name = name
        host = URL(self._request("")[0]).host or ""
        super().__init__(
            name, (api_key, host), _RAW_ARGS, silent_seconds=silent_seconds, idle_seconds=idle_seconds, guarded=guarded
        )

    async def close(self) -> None:
        """Close the connections and the SDK's client."""
        await super().close()
        self._client.close()
        await self._http.aclose()

    def _request(self, path: str) -> tuple[str, dict[str, str]]:
        """Where a request for `path` goes, and its headers."""
        # The SDK's public methods take and give only its own types.
        request = self._client._api_client._build_request("post", path, {})
        return request.url, request.headers

    async def _target(self, path: str) -> Target:
        url, headers = self._request(path)
        return Target.of(url, headers.items())

    def _refusal(self, status: int, headers: Mapping[str, str], report: Any) -> ProviderError:
        report = report[0] if isinstance(report, list) and report else report
        details = _details(report)
        if any(detail.get("reason") == "API_KEY_INVALID" for detail in details):
            return ProviderMisconfigured(
                f"{self._name} does not accept the configured credentials (HTTP {status}).", status=status
            )
        wait = {"retry-after": headers.get("retry-after") or _delay(details)}
        return super()._refusal(status, wait, report)


def _details(report: Any) -> list[dict[str, Any]]:
    error = report.get("error") if isinstance(report, dict) else None
    details = error.get("details") if isinstance(error, dict) else None
    return [detail for detail in details if isinstance(detail, dict)] if isinstance(details, list) else []


def _delay(details: list[dict[str, Any]]) -> str:
    """After how many seconds the API says that a retry makes sense; empty when it does not say."""
    delays = [detail.get("retryDelay") for detail in details if detail.get("@type") == _RETRY_INFO]
    return next((delay.removesuffix("s") for delay in delays if isinstance(delay, str)), "")
