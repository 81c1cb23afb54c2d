"""Makes `sequences.json` out of AgentDojo: what its honest tasks call, and what its attacks call once they were read.

Not a part of the suite, and `agentdojo` is no dependency. To make the file again, in an environment of its own:

    python -m venv /tmp/dojo && /tmp/dojo/bin/pip install agentdojo==0.1.35
    /tmp/dojo/bin/python tests/agentdojo/make.py

Each honest task is done as its ground truth says, with a marker in each place where an attack can be planted; the calls
whose answers hold one are `read_at`. No model is asked. Of arguments only texts and lists of texts are kept, since the
gates look at no others here.
"""

import json
from pathlib import Path
from typing import Any

from agentdojo.agent_pipeline.tool_execution import tool_result_to_str  # type: ignore[import-not-found]
from agentdojo.functions_runtime import FunctionsRuntime  # type: ignore[import-not-found]
from agentdojo.task_suite.load_suites import get_suites  # type: ignore[import-not-found]

VERSION = "v1.2.2"
FILE = Path(__file__).with_name("sequences.json")
# Of a text that is no destination nobody needs more.
MOST_CHARACTERS = 120


def called(calls: list[Any]) -> list[list[Any]]:
    """Calls as [name, arguments]."""
    return [[each.function, {name: kept(value) for name, value in each.args.items() if texts(value)}] for each in calls]


def texts(value: Any) -> bool:
    """Whether an argument is kept."""
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(each, str) for each in value))


def kept(value: Any) -> Any:
    """An argument, cut."""
    return value[:MOST_CHARACTERS] if isinstance(value, str) else value


def honest(suite: Any, task: Any) -> dict[str, Any]:
    """One honest task: what its user asks, what is called for it, and where attacks are read first."""
    markers = {name: f"MARKER-{name}-MARKER" for name in suite.get_injection_vector_defaults()}
    environment = task.init_environment(suite.load_and_inject_default_environment(markers))
    runtime, calls = FunctionsRuntime(suite.tools), task.ground_truth(environment)
    read_at = None
    for at, call in enumerate(calls):
        result, _ = runtime.run_function(environment, call.function, call.args)
        if read_at is None and any(marker in tool_result_to_str(result) for marker in markers.values()):
            read_at = at
    assert read_at is not None, task.ID
    return {"prompt": task.PROMPT, "calls": called(calls), "read_at": read_at}


def attack(suite: Any, task: Any) -> dict[str, Any]:
    """One attack: what it wants, and what is called for it."""
    return {"goal": task.GOAL, "calls": called(task.ground_truth(suite.load_and_inject_default_environment({})))}


def main() -> None:
    """Write the file."""
    suites = {
        name: {
            "tasks": {key: honest(suite, task) for key, task in suite.user_tasks.items()},
            "attacks": {key: attack(suite, task) for key, task in suite.injection_tasks.items()},
        }
        for name, suite in get_suites(VERSION).items()
    }
    text = json.dumps(suites, ensure_ascii=False, separators=(",", ":"))
    # A line for each task, so that differences can be read.
    FILE.write_text(
        text.replace('},"user_task', '},\n"user_task').replace('},"injection_task', '},\n"injection_task') + "\n"
    )


if __name__ == "__main__":
    main()
