"""The targets: bounds on figures of one report."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Report = dict[str, Any]


@dataclass(frozen=True)
class Target:
    """A bound: `figure` takes it out of a report; at least the bound when `at_least`, else at most."""

    title: str
    figure: Callable[[Report], float]
    bound: float
    unit: str
    at_least: bool
    why: str = ""

    def met(self, report: Report) -> bool:
        """Whether this report is within the bound."""
        value = self.figure(report)
        return value >= self.bound if self.at_least else value <= self.bound

    def ratio(self, report: Report) -> float:
        """How much better than the bound: 1.0 just meets it, 2.0 is twice as good, 0.5 half as good."""
        value = self.figure(report)
        if self.at_least:
            return value / self.bound
        return self.bound / value if value else float("inf")


def _of(scenario: str, concurrency: str, figure: str) -> Callable[[Report], float]:
    return lambda report: float(report["scenarios"][scenario][concurrency][figure])


def _ratio(report: Report, scenario: str, figure: tuple[str, str], other: tuple[str, str], *, without: float) -> float:
    """One figure of a scenario over another, each by concurrency and name; `without` when the other is 0."""
    divisor = _of(scenario, *other)(report)
    return _of(scenario, *figure)(report) / divisor if divisor else without


def _errors(report: Report) -> float:
    return float(sum(figures["errors"] for each in report["scenarios"].values() for figures in each.values()))


TARGETS = [
    Target("/v1 chat, c1, p50", _of("v1_chat", "1", "p50"), 2.5, "ms", False, "LiteLLM: 9.3 ms"),
    Target("/v1 chat, c16", _of("v1_chat", "16", "per_second"), 800, "/s", True, "6.5 × LiteLLM's 123/s"),
    Target(
        "/v1 chat, c64 against c16",
        lambda report: _ratio(report, "v1_chat", ("64", "per_second"), ("16", "per_second"), without=0.0),
        0.95,
        "×",
        True,
        "no collapse under load",
    ),
    Target(
        "/v1 chat, c64: p95 against p50",
        lambda report: _ratio(report, "v1_chat", ("64", "p95"), ("64", "p50"), without=float("inf")),
        3,
        "×",
        False,
        "nobody waits for the others",
    ),
    Target("/v1 stream, c1, first token", _of("v1_stream", "1", "first_p50"), 3, "ms", False, "LiteLLM: 12.8 ms"),
    Target("/v1 stream, c16", _of("v1_stream", "16", "per_second"), 600, "/s", True, "14 × LiteLLM's 42/s"),
    Target("/v1 governed call, c1, p50", _of("v1_tool", "1", "p50"), 7, "ms", False, "peers' bare: 13–50 ms"),
    Target("/v1 governed call, c16", _of("v1_tool", "16", "per_second"), 300, "/s", True, "peers' bare calls: 53/s"),
    Target("/v1 eight calls a turn, c16", _of("v1_tools", "16", "calls_per_second"), 600, "/s", True),
    Target(
        "kept-alive connection against a new one",
        lambda report: max(each["kept"] / each["new"] for each in report["connections"].values()),
        1.2,
        "×",
        False,
        "nothing waits for an acknowledgement",
    ),
    Target("errors in all scenarios", _errors, 0, "", False),
    Target(
        "answered calls that are not on record",
        lambda report: float(report["rows"]["answered"] - report["rows"]["ledger_settled"]),
        0,
        "",
        False,
        "no audit row, no answer",
    ),
    Target(
        "memory of web + worker + beat",
        lambda report: float(report["memory"]["together"]["pss_mib"]),
        450,
        "MiB",
        False,
        "PSS; LiteLLM alone: 333 MiB",
    ),
]
REMOTE_TARGET = Target(
    "200 remote calls of 5 s",
    lambda report: float(report["remote"]["seconds"]),
    15,
    "s",
    False,
    "slow remotes side by side",
)


def of(report: Report) -> list[Target]:
    """The targets that this report has figures for."""
    return TARGETS + ([REMOTE_TARGET] if report.get("remote") else [])
