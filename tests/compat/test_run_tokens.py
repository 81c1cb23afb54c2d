"""The tokens of a run and of those that it begins, over REST, with models that are asked over HTTP."""

import re
from typing import Any

import httpx
from llmock.pytest_plugin import LLMock
from llmock.scenarios import Match, Reply, ToolCall

from gateway.budgets import bounds
from tests.compat.models import MOCKED
from tests.people import Cast, Person
from tests.stack import Stack

MOST = 60_000


def _asked(stack: Stack, person: Person, method: str, path: str, body: Any = None) -> Any:
    answer = httpx.request(method, f"{stack.url}/api/v1{path}", json=body, headers=person.headers)
    assert answer.is_success, answer.text
    return answer.json()


def _task(task: str) -> ToolCall:
    return ToolCall("subagent", {"task": task, "agent": "helper"})


def test_a_runs_tokens_are_shared_by_all_that_it_begins(mocked: Stack, llmock: LLMock, tenant: Cast) -> None:
    of_boss, of_helper = MOCKED["anthropic"], MOCKED["openai"]
    _asked(mocked, tenant.olga, "POST", "/agents/", {"slug": "helper", "tools": ["list_tasks"], "model": of_helper})
    boss = {"slug": "boss", "tools": ["subagent", "helper"], "model": of_boss, "max_run_tokens": MOST}
    assert _asked(mocked, tenant.olga, "POST", "/agents/", boss)["max_run_tokens"] == MOST
    llmock.add(Reply("I ask two.", (_task("One."), _task("Two.")), match=Match(provider="anthropic")))
    llmock.add(Reply("Here it is.", times=2, match=Match(provider="openai")))
    llmock.add(Reply("Both say so.", match=Match(provider="anthropic")))

    chat = {"content": "hi", "agent": "boss"}
    answer = _asked(mocked, tenant.alice, "POST", "/chat", chat)
    assert (answer["status"], answer["content"]) == ("completed", "Both say so."), answer
    assert answer["usage"]["max_run_tokens"] == MOST
    tree = _asked(mocked, tenant.alice, "GET", f"/runs/{answer['run_id']}/tree")
    every = [each["usage"] for each in (tree, *tree["children"])]
    assert [each["turns"] for each in every] == [2, 1, 1]
    used = [each["input_tokens"] + each["output_tokens"] for each in every]
    assert [each["run_tokens"] for each in every] == [sum(used), *used[1:]]
    first, second = (each["max_run_tokens"] for each in every[1:])
    assert 0 < first + second <= MOST - used[0] + sum(used[1:])

    # Less than this turn is reserved at: nobody is asked.
    asked = len(llmock.requests)
    _asked(mocked, tenant.olga, "PATCH", "/agents/boss/", {"max_run_tokens": bounds.LEAST_TURN})
    answer = _asked(mocked, tenant.alice, "POST", "/chat", chat)
    assert (answer["status"], answer["incomplete_reason"], answer["content"]) == ("incomplete", "tokens", "")
    assert answer["error"]["code"] == "run_tokens_spent"
    assert (answer["usage"]["turns"], len(llmock.requests)) == (0, asked)
    said = re.fullmatch(
        r"This run may use 1,256 tokens with all that it begins\. Its first turn can take ([\d,]+)\. An owner of your "
        r"tenant can raise the limit of its agent under Settings, Agents\.",
        answer["error"]["message"],
    )
    assert said is not None, answer["error"]["message"]
    # With so many it is asked.
    enough = int(said[1].replace(",", ""))
    llmock.add(Reply("Hello.", match=Match(provider="anthropic")))
    _asked(mocked, tenant.olga, "PATCH", "/agents/boss/", {"max_run_tokens": enough})
    assert _asked(mocked, tenant.alice, "POST", "/chat", chat)["content"] == "Hello."
