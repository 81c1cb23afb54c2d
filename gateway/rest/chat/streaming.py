"""A run's events as the answer of a view, in a place that counts as one of the caller's open streams."""

import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from math import inf

from django.http import StreamingHttpResponse

from gateway.http.asgi import EVENT_STREAM
from gateway.rest.chat import answers
from gateway.rest.framework.asynchronous import AsyncView
from gateway.runs.lifecycle import beginning, following
from gateway.runs.preparation import ChatRequest
from gateway.runs.view import RunView
from gateway.runs.watching import events
from tenants.limits.streams import STREAMS, OpenStream


async def begin(view: AsyncView, chat: ChatRequest) -> tuple[RunView, OpenStream | None]:
    """A run that has begun, and the place of its stream where one is asked for. Raises TooManyOpenStreams before."""
    if not chat.streams:
        return await beginning.begin(view.principal, chat), None
    return await _placed(view, lambda: beginning.begin(view.principal, chat))


async def look(view: AsyncView, run_id: uuid.UUID) -> tuple[RunView, OpenStream]:
    """A run, and a place for a stream of its events. Raises TooManyOpenStreams before it is read, and NoSuchRun."""
    return await _placed(view, lambda: following.look(view.tenant_scope, run_id))


async def _placed(view: AsyncView, find: Callable[[], Awaitable[RunView]]) -> tuple[RunView, OpenStream]:
    opened = STREAMS.open(view.principal)
    try:
        return await find(), opened
    except BaseException:
        opened.close()
        raise


def streaming(
    view: AsyncView, opened: OpenStream, run: RunView, last_event_id: str = "", wait: float = inf
) -> StreamingHttpResponse:
    """The run's events from the beginning, or after the last one that the client has; `opened` is closed after them."""
    content = answers.stream(view.tenant_scope, run, events.position(last_event_id), wait)
    answer = StreamingHttpResponse(_within(opened, content), content_type=EVENT_STREAM, headers=answers.STREAM_HEADERS)
    answer._resource_closers.append(opened.close)  # type: ignore[attr-defined]
    return answer


async def _within(opened: OpenStream, content: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    with opened:
        async with aclosing(content):
            async for piece in content:
                yield piece
