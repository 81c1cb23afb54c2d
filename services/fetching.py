"""Documents that a service's owner names by their address: fetched once, through the egress guard."""

from services.errors import AnswersEvents, InvalidService, SourceFailed
from tools.network import egress

# The documents of large APIs have this much.
MAX_BYTES = 16 * 1024 * 1024
CONNECT_SECONDS, SECONDS = 5.0, 20.0


async def fetch(url: str, field: str, headers: dict[str, str] | None = None, most: int = MAX_BYTES) -> str:
    """The text at an address; `field` names it in errors.

    Raises InvalidService for an address that may not be asked, and SourceFailed when it did not answer with a text.
    """
    headers = {"Accept": "application/json, application/yaml;q=0.5, */*;q=0.1"} | (headers or {})
    client = egress.Client(keeps=False)
    try:
        async with client.exchange(
            "GET", url, headers=headers, connect_seconds=CONNECT_SECONDS, seconds=SECONDS
        ) as exchange:
            if exchange.status == 200 and _is_stream(exchange):
                # It need not end.
                raise AnswersEvents(field)
            status, encoding, body = exchange.status, exchange.encoding, await exchange.beginning(most + 1)
    except egress.EgressRefused as refused:
        raise InvalidService(
            f"{refused} The operator can allow private addresses (TOOLGATE_EGRESS_ALLOW).", field
        ) from None
    except egress.EgressFailed as failed:
        raise SourceFailed(str(failed), field) from None
    finally:
        await client.close()
    if status != 200:
        what = "a redirect, which is not followed" if 300 <= status < 400 else "no document"
        raise SourceFailed(f"The address answered with {what} (HTTP {status}).", field)
    if encoding:
        raise SourceFailed("The address answered in a packed form that was not asked for.", field)
    if len(body) > most:
        raise SourceFailed(f"The address answered more than {most:,} bytes.", field)
    try:
        return body.decode()
    except UnicodeDecodeError:
        raise SourceFailed("The address answered something that is not UTF-8.", field) from None


async def answers_events(url: str, headers: dict[str, str]) -> bool:
    """Whether the address answers a GET with a stream of events; False where that cannot be said."""
    try:
        await fetch(url, "url", {"Accept": "text/event-stream"} | headers, most=0)
    except AnswersEvents:
        return True
    except (InvalidService, SourceFailed):
        return False
    return False


def _is_stream(exchange: egress.Exchange) -> bool:
    return exchange.headers.get("Content-Type", "").partition(";")[0].strip().lower() == "text/event-stream"
