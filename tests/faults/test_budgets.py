"""Fifty chats at once on a budget of ten cents, over three web processes of which one is killed."""

import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from tests.budgets.rows import amounts, make_budget, reservations, used
from tests.database import rows
from tests.people import Cast
from tests.stack import Stack
from tests.waiting import PATIENCE_SECONDS, until

pytestmark = [pytest.mark.faults, pytest.mark.timeout(1200)]

CHATS, LIMIT = 50, Decimal("0.10")
EVERY = 10
IN, OUT = Decimal("0.15") / 1_000_000, Decimal("0.6") / 1_000_000
QUESTION = "Tell me all about budgets. " * 400


class Model:
    """A provider's server that bills each request it was sent, whether its answer is read or not.

    `share` of the tokens that an answer may have is what it has. Answers are held until `gate` is set.
    """

    def __init__(self, share: float):
        self.share, self.billed, self.asked = share, Decimal(0), 0
        self.gate, self._lock = threading.Event(), threading.Lock()
        model = self

        class Answers(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                model.answer(self)

            def log_message(self, format: str, *values: Any) -> None:
                return

        class Server(ThreadingHTTPServer):
            daemon_threads, request_queue_size = True, 2 * CHATS

        self.server = Server(("127.0.0.1", 0), Answers)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        """Bill, wait for the gate, and answer."""
        whole = request.rfile.read(int(request.headers["Content-Length"]))
        body = json.loads(whole)
        tokens_in, tokens_out = len(whole) // 4, max(1, int(body["max_tokens"] * self.share))
        with self._lock:
            self.asked += 1
            self.billed += tokens_in * IN + tokens_out * OUT
        assert self.gate.wait(PATIENCE_SECONDS)
        message = {"role": "assistant", "content": "All about budgets."}
        answer = {
            "id": "c",
            "object": "chat.completion",
            "created": int(time.time()),
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": tokens_in, "completion_tokens": tokens_out},
        }
        content = json.dumps(answer).encode()
        request.send_response(200)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        request.wfile.write(content)


@contextmanager
def three(model: Model, **more: str) -> Iterator[tuple[Stack, list[str]]]:
    """Three web processes and a worker that ask the model; the addresses of the first.

    Without beat, nobody takes a run from a process that is too slow, on a busy machine, to keep its lease.
    """
    environment = {"OPENAI_API_KEY": "sk-none", "OPENAI_BASE_URL": model.url, "WEB_CONCURRENCY": "3"}
    # So that a prompt costs little beside its answer.
    environment["TOOLGATE_ALLOWED_TOOLS"] = "save_note,list_tasks"
    with Stack(**environment | more) as stack:
        yield stack, [stack.url, stack.start_web("second web"), stack.start_web("third web")]


def _chats(tenant: Cast, urls: list[str], model: Model) -> "list[Any]":
    """Fifty chats of five people at once; each is its answer, or what came instead.

    Every tenth goes to the last address, so that those to the others use more than the budget by themselves. The others
    are sent when the model was asked for these, so that the last process has turns with the model when it is killed.
    """
    people = [tenant.alice, tenant.bob, tenant.carol, tenant.dana, tenant.olga]
    body = {"content": QUESTION, "model": "openai/gpt-4o-mini"}

    def chat(number: int) -> Any:
        try:
            is_last = number % EVERY == 0
            url = urls[-1] if is_last else urls[number % (len(urls) - 1)]
            if not is_last:
                until(lambda: model.asked >= CHATS // EVERY)
            person = people[number % len(people)]
            return httpx.post(f"{url}/api/v1/chat", json=body, headers=person.headers, timeout=PATIENCE_SECONDS)
        except httpx.HTTPError as lost:
            return lost

    with ThreadPoolExecutor(CHATS) as pool:
        return list(pool.map(chat, range(CHATS)))


def _all_over(tenant: Cast) -> bool:
    is_open = "SELECT id FROM runs WHERE tenant_id = %(id)s AND status IN ('in_progress', 'waiting', 'requires_action')"
    return rows(is_open, id=tenant.id) == []


def test_a_killed_process_and_fifty_chats_at_once_never_spend_more_than_the_budget(tenant: Cast) -> None:
    model = Model(share=1.0)
    budget = make_budget(tenant, LIMIT)
    with three(model, RUN_LEASE_SECONDS="5") as (stack, urls), ThreadPoolExecutor(1) as pool:
        chats = pool.submit(_chats, tenant, urls, model)
        # What is reserved is all that the budget has, or nearly: the others wait.
        until(lambda: amounts(budget)[1] > LIMIT * Decimal("0.95"), lambda: (amounts(budget), model.asked))
        assert sum(amounts(budget)) <= LIMIT
        stack.kill("third web")
        assert sum(amounts(budget)) <= LIMIT
        stack.start("beat")
        model.gate.set()
        answers = chats.result()
        until(lambda: _all_over(tenant))
    spent, reserved = amounts(budget)
    assert (reserved, reservations(tenant)) == (0, [])
    assert model.billed <= spent <= LIMIT
    assert sum(row["cost"] for row in used(tenant)) == spent
    done = [answer for answer in answers if isinstance(answer, httpx.Response)]
    codes = {answer.status_code for answer in done}
    assert codes <= {200, 402}
    assert 402 in codes and 200 in codes
    assert any(isinstance(answer, httpx.HTTPError) for answer in answers)
    assert any(row["estimated"] for row in used(tenant))
    print(f"{model.asked} requests, US${model.billed} billed, US${spent} spent, {len(done)} answers")


def test_nobody_is_locked_out_by_what_fifty_chats_reserve_at_the_most(tenant: Cast) -> None:
    # All of them together reserve more than there is, and use a third of it.
    model = Model(share=0.1)
    model.gate.set()
    budget = make_budget(tenant, LIMIT)
    with three(model, RUN_LEASE_SECONDS="300") as (stack, urls):
        # Nobody is killed, and so every run is asked about once.
        stack.start("beat")
        answers = _chats(tenant, urls, model)
        until(lambda: _all_over(tenant))
    assert [answer.status_code for answer in answers] == [200] * CHATS
    spent, reserved = amounts(budget)
    assert (spent, reserved) == (model.billed, 0)
    assert spent < LIMIT / 2
