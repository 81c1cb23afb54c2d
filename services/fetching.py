"""Documents that a service's owner names by their address: fetched once, through the egress guard."""

from services.errors import InvalidService, SourceFailed
from tools.network import egress

# The documents of large APIs have this much.
MAX_BYTES = 16 * 1024 * 1024
CONNECT_SECONDS, SECONDS = 5.0, 20.0


async def fetch(url: str, field: str, headers: dict[str, str] | None = None, most: int = MAX_BYTES) -> str:
    """The text at an address; `field` names it in errors.

    Raises InvalidService for an address that may not be asked, and SourceFailed when it did not answer with a text.
    """
    try:
        answer = await egress.request(
            "GET",
            url,
            headers={"Accept": "application/json, application/yaml;q=0.5, */*;q=0.1"} | (headers or {}),
            connect_seconds=CONNECT_SECONDS,
            seconds=SECONDS,
            most=most + 1,
        )
    except egress.EgressRefused as refused:
        raise InvalidService(
            f"{refused} The operator can allow private addresses (TOOLGATE_EGRESS_ALLOW).", field
        ) from None
    except egress.EgressFailed as failed:
        raise SourceFailed(str(failed), field) from None
    if answer.status != 200:
        what = "a redirect, which is not followed" if 300 <= answer.status < 400 else "no document"
        raise SourceFailed(f"The address answered with {what} (HTTP {answer.status}).", field)
    if answer.encoding:
        raise SourceFailed("The address answered in a packed form that was not asked for.", field)
    if len(answer.body) > most:
        raise SourceFailed(f"The address answered more than {most:,} bytes.", field)
    try:
        return answer.body.decode()
    except UnicodeDecodeError:
        raise SourceFailed("The address answered something that is not UTF-8.", field) from None
