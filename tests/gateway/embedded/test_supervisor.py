"""The supervisor, whole, around stand-in processes."""

import functools
import os
import signal
import socket
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.embedded.processes import wait_until
from tenants.scope.logins import derived_urls
from tests.gateway.embedded.conftest import PATIENCE, PEOPLE, Running, answer, is_gone

Run = Callable[..., Running]


def _starts_with(words: str, line: str) -> bool:
    return line.startswith(words)


def test_it_says_ready_on_a_line_of_its_own_after_the_demo_logins(run: Run, tmp_path: Path) -> None:
    running = run()
    url = running.ready()

    introduction = [line for line in running.lines if " | " not in line]
    assert introduction == [
        "",
        f"Demo logins for {url}/accounts/login/",
        "  demo     alice    secret of alice",
        "API key of alice: tg_alice",
        f"All of this is in {tmp_path}/var/demo.json.",
        "",
        f"ready {url}",
    ]


def test_demo_json_is_the_contract_and_its_owners_alone(run: Run) -> None:
    running = run()
    url = running.ready()

    demo = running.demo()
    assert demo["pids"]["web"] == [answer(url)["pid"]]
    assert {name: len(pids) for name, pids in demo.pop("pids").items()} == {
        "web": 1, "worker": 1, "beat": 1, "postgres": 0, "redis": 0,
    }  # fmt: skip
    assert demo == {
        "url": url,
        "tenants": PEOPLE,
        "database_url": "postgresql://app:a@db/t",
        "database_owner_url": "postgresql://o:o@db/t",
        "redis_url": "redis://r",
    }
    for name in ("demo.json", "services.json", "generated.json"):
        assert stat.S_IMODE((running.data_dir / name).stat().st_mode) == 0o600


def test_the_web_process_has_every_login_but_the_owners(run: Run) -> None:
    running = run()
    environment = answer(running.ready())["environment"]

    assert environment["TOOLGATE_PROCESS"] == "web"
    assert environment["DATABASE_URL"] == "postgresql://app:a@db/t"
    derived = derived_urls({"default": "postgresql://app:a@db/t"}, running.data_dir)
    assert environment["DATABASE_SYSTEM_URL"] == derived["system"]
    assert environment["DATABASE_OPERATOR_URL"] == derived["operator"]
    assert "DATABASE_OWNER_URL" not in environment


@pytest.mark.parametrize("name", ["web", "worker", "beat"])
def test_a_process_that_is_killed_is_started_again_and_demo_json_stays_true(run: Run, name: str) -> None:
    running = run()
    url = running.ready()
    before = running.demo()["pids"]

    os.kill(running.pid(name), signal.SIGKILL)
    running.line(lambda line: line == f"up     | {name} ended (by SIGKILL); starting it again")
    running.line(lambda line: line.startswith(f"{name:<6} | here "))

    assert wait_until(lambda: running.demo()["pids"][name] not in ([], before[name]), PATIENCE)
    after = running.demo()["pids"]
    assert {other: after[other] for other in after if other != name} == {
        other: before[other] for other in before if other != name
    }
    assert answer(url)["pid"] == after["web"][0]


def test_a_request_that_comes_while_the_web_process_restarts_waits_for_it(run: Run) -> None:
    running = run()
    url = running.ready()
    killed = running.pid("web")

    os.kill(killed, signal.SIGKILL)

    assert answer(url)["pid"] != killed


def test_a_process_that_keeps_dying_is_started_again_and_again(run: Run) -> None:
    running = run("--beat", "raise SystemExit(3)")

    for _ in range(4):
        running.line(lambda line: line == "up     | beat ended (with exit code 3); starting it again")
    assert len(running.demo()["pids"]["web"]) == 1


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130), (signal.SIGHUP, 0)])
def test_a_signal_stops_every_process(run: Run, number: signal.Signals, code: int) -> None:
    running = run()
    running.ready()
    pids = [pid for found in running.demo()["pids"].values() for pid in found]

    running.process.send_signal(number)

    assert running.exited() == (code, "")
    assert len(pids) == 3
    assert all(is_gone(pid) for pid in pids)
    assert not (running.data_dir / "demo.json").exists()
    assert not (running.data_dir / "services.json").exists()


def test_a_process_that_ignores_sigterm_is_killed_when_asked_to_stop_again(run: Run) -> None:
    stubborn = "import signal; signal.signal(15, signal.SIG_IGN); print('here', flush=True)\nwhile True: signal.pause()"
    running = run("--beat", stubborn)
    running.ready()
    running.line(lambda line: line == "beat   | here")
    pid = running.pid("beat")

    running.process.terminate()
    assert is_gone(running.pid("worker"))
    assert not wait_until(lambda: running.process.poll() is not None, 1.1)
    running.process.terminate()

    assert running.exited()[0] == 0
    assert is_gone(pid)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends children with their parent")
def test_children_end_with_a_supervisor_that_is_killed_and_the_next_one_starts(run: Run) -> None:
    running = run()
    running.ready()
    pids = [pid for found in running.demo()["pids"].values() for pid in found]

    running.process.kill()

    assert all(is_gone(pid) for pid in pids)
    running.exited()
    again = run()
    again.ready()
    assert again.pid("web") not in pids


def test_it_stops_when_its_parent_has_gone(run: Run) -> None:
    gone = os.getpid() + 1  # Any process but this one, which is its parent.
    running = run("--parent", str(gone))

    assert running.exited() == (0, "")


def test_a_port_that_is_taken_is_one_clear_line_and_nothing_starts(run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        running = run("--services", port=port)

        refusal = f"cannot listen on 127.0.0.1 port {port} (Address already in use)"
        assert running.exited() == (1, f"toolgate: {refusal}; stop what holds it, or set HOST and PORT\n")
    assert running.lines == []
    assert not (running.data_dir / "postgres").exists()


def test_a_second_one_on_the_same_data_is_one_clear_line_and_the_first_goes_on(run: Run) -> None:
    first = run()
    url = first.ready()

    second = run()

    refusal = f"process {first.process.pid} runs Toolgate in {first.data_dir} already"
    advice = "stop it, or set TOOLGATE_DATA_DIR and PORT for a second one"
    assert second.exited() == (1, f"toolgate: {refusal}; {advice}\n")
    assert second.lines == []
    assert answer(url)["pid"] == first.pid("web")


def test_a_start_waits_for_one_that_is_stopping(run: Run) -> None:
    slow = "import signal, sys; signal.signal(15, lambda *_: (sys.stdin, signal.sigtimedwait([], 3), sys.exit()))\n"
    first = run("--beat", slow + "print('here', flush=True)\nwhile True: signal.pause()")
    first.ready()
    first.line(lambda line: line == "beat   | here")

    first.process.terminate()
    second = run()

    second.ready()
    assert first.exited() == (0, "")


def test_set_up_that_fails_ends_everything_with_its_own_words(run: Run) -> None:
    running = run(setup="import sys; sys.exit('toolgate: no such database')")

    assert running.exited() == (1, "")
    assert running.lines == ["setup  | toolgate: no such database"]


def test_set_up_that_is_killed_is_done_again(run: Run, tmp_path: Path) -> None:
    once = f"import os, pathlib\nif not os.path.exists({str(tmp_path / 'once')!r}): "
    running = run(setup=once + f"pathlib.Path({str(tmp_path / 'once')!r}).touch(); os.kill(os.getpid(), 9)")

    running.ready()


def test_all_of_it_with_real_services_survives_their_death(run: Run) -> None:
    running = run("--services")
    running.ready()
    before = running.demo()

    for name in ("postgres", "redis"):
        os.kill(running.pid(name), signal.SIGKILL)
        words = f"up     | {name} had died and runs again as process "
        running.line(functools.partial(_starts_with, words))

    assert wait_until(lambda: all(running.demo()["pids"][name] for name in ("postgres", "redis")), PATIENCE)
    after = running.demo()
    assert after["pids"]["postgres"] != before["pids"]["postgres"]
    assert after["pids"]["redis"] != before["pids"]["redis"]
    assert after["pids"]["web"] == before["pids"]["web"]
    assert {name: after[name] for name in after if name != "pids"} == {
        name: before[name] for name in before if name != "pids"
    }
    running.process.terminate()
    assert running.exited() == (0, "")
    assert all(is_gone(pid) for found in after["pids"].values() for pid in found)
