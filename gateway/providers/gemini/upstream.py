"""Access to Gemini's API through the official SDK's client.

The SDK knows credentials, headers and URLs, and its requests go over one connection pool. Sending is our own: the SDK's
would ask again by itself, read answers of any length, and parse arguments that must stay as the model wrote them.
"""

import re
from typing import Any

import httpx2
import orjson
from google import genai
from google.genai import types

from gateway.providers.errors import ProviderError, ProviderGarbled, ProviderRefused
from gateway.providers.upstream import CONNECT_SECONDS, Exchange, FellSilent, limited

_VERSION = "v1beta"
_RAW_ARGS = re.compile(rb'(?<!\\)"args"\s*:\s*(?=[{\[])')
_RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo"


class GeminiUpstream(Exchange):
    """Gemini's API at `base_url`, which holds no version; by default Google's own."""

    def __init__(self, name: str, api_key: str, base_url: str | None, silent_seconds: float, idle_seconds: float):
        # A redirect would send prompt and key to another server.
        self._http = httpx2.AsyncClient(
            timeout=httpx2.Timeout(silent_seconds, connect=CONNECT_SECONDS, pool=None),
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=100),
            follow_redirects=False,
        )
        options = types.HttpOptions(base_url=base_url, api_version=_VERSION, httpx_async_client=self._http)
        self._client = genai.Client(vertexai=False, api_key=api_key, http_options=options)
        self._name = name
        super().__init__(name, (api_key, httpx2.URL(self._request("")[0]).host), _RAW_ARGS, idle_seconds)

    async def close(self) -> None:
        """Close the SDK's client and its connections."""
        self._client.close()
        await self._http.aclose()

    def _request(self, path: str) -> tuple[str, dict[str, str]]:
        """Where a request for `path` goes, and its headers."""
        # The SDK's public methods take and give only its own types.
        request = self._client._api_client._build_request("post", path, {})
        return request.url, request.headers

    async def _send(self, path: str, content: bytes) -> httpx2.Response:
        url, headers = self._request(path)
        request = self._http.build_request("POST", url, headers=headers, content=content)
        response = await self._http.send(request, stream=True)
        if response.status_code == 200:
            return response
        try:
            report = await self._report(response)
        finally:
            await response.aclose()
        details = _details(report)
        if any(detail.get("reason") == "API_KEY_INVALID" for detail in details):
            raise ProviderRefused(
                f"{self._name} does not accept the configured credentials (HTTP {response.status_code}).",
                status=response.status_code,
            )
        headers = {"retry-after": response.headers.get("retry-after") or _delay(details)}
        raise self._failures.of_status(response.status_code, headers, report)

    async def _report(self, response: httpx2.Response) -> Any:
        """What the body of a failure says, as JSON; None when it says nothing that can be read."""
        try:
            body = b"".join([chunk async for chunk in limited(response, self._idle_seconds)])
            report = orjson.loads(body)
        except (FellSilent, ProviderGarbled, orjson.JSONDecodeError, httpx2.DecodingError):
            return None
        return report[0] if isinstance(report, list) and report else report

    def _lost(self, error: Exception) -> ProviderError:
        # Over aiohttp a refused connection is a time-out, too; here a time-out is one.
        return self._failures.of_connection(TimeoutError() if isinstance(error, httpx2.TimeoutException) else error)


def _details(report: Any) -> list[dict[str, Any]]:
    error = report.get("error") if isinstance(report, dict) else None
    details = error.get("details") if isinstance(error, dict) else None
    return [detail for detail in details if isinstance(detail, dict)] if isinstance(details, list) else []


def _delay(details: list[dict[str, Any]]) -> str:
    """After how many seconds the API says that a retry makes sense; empty when it does not say."""
    delays = [detail.get("retryDelay") for detail in details if detail.get("@type") == _RETRY_INFO]
    return next((delay.removesuffix("s") for delay in delays if isinstance(delay, str)), "")
