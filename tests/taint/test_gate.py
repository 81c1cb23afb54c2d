"""The gate `taint` by itself: what it holds, what it lets through, and what it makes of what it cannot know."""

import uuid
from dataclasses import replace
from typing import Any

import pytest

from tests.approvals.test_rules import a_rule
from tools.gates import policy
from tools.gates.checks.approval import Approving
from tools.gates.checks.taint import Tainted
from tools.gates.destinations import all_stand_in
from tools.gates.interface import Approval, Caller, Candidate, GateContext, GateResult, Taint, TaintSource
from tools.gates.policy import Setting
from tools.interface import CallFacts, Tier, Tool, labels_of
from tools.labels import EVERY_LABEL, Label, feeds_of

AT = "2026-03-01T20:03:00Z"
PRIVATE = TaintSource("private", "search_notes", AT, "11111111-1111-4111-8111-111111111111")
UNTRUSTED = TaintSource("untrusted", "web_search", AT)
POLICY = policy.from_row(None, "all")


class Post(Tool):
    """Sends a text to somebody outside."""

    name = "post"
    description = "Sends a text."
    parameters: dict[str, Any] = {"type": "object", "properties": {"to": {}, "text": {}}, "additionalProperties": False}
    tier = Tier.WORKSPACE
    labels = frozenset({Label.LEAVES_TENANT})
    destinations = ("to",)


class Fickle(Post):
    """Says something else of each call."""

    def __init__(self, answer: Any):
        self.answer = answer

    def labels_of(self, arguments: Any) -> frozenset[Label]:
        if isinstance(self.answer, Exception):
            raise self.answer
        return frozenset(self.answer)


def context(*sources: TaintSource, words: tuple[str, ...] = (), mode: str = "ask", known: bool = True) -> GateContext:
    """One evaluation in a session that has read from these sources."""
    taint = Taint(sources, words) if known else None
    return GateContext(replace(POLICY, taint=mode), Caller(uuid.UUID(int=1), uuid.UUID(int=2), "default", taint=taint))


def asked(within: GateContext, to: Any = "mallory@evil.example", tool: Tool | None = None) -> GateResult | None:
    """The gate's answer about a call; None where it has nothing to say."""
    candidate, gate = Candidate("post", tool or Post(), {"to": to, "text": "x"}), Tainted()
    return gate.check(candidate, within) if gate.concerns(candidate, within) else None


@pytest.mark.parametrize(
    ("sources", "held"),
    [((), False), ((PRIVATE,), False), ((UNTRUSTED,), False), ((PRIVATE, UNTRUSTED), True)],
    ids=["nothing", "private", "untrusted", "both"],
)
def test_a_call_that_leaves_is_held_once_the_session_has_read_both(sources: Any, held: bool) -> None:
    answer = asked(context(*sources))
    assert (answer is not None and answer.ok and answer.holds) is held


def test_a_call_that_would_be_held_is_refused_in_a_run_where_nobody_listens() -> None:
    within = context(PRIVATE, UNTRUSTED)
    answer = asked(replace(within, policy=replace(within.policy, asks_humans=False)))
    assert answer is not None
    assert (answer.ok, answer.holds, answer.code) == (False, False, "permission_denied")
    assert "nobody listens in this run" in answer.model


def test_the_answer_names_what_was_read_where_and_when() -> None:
    answer = asked(context(PRIVATE, UNTRUSTED))
    assert answer is not None
    assert answer.log == (
        "this session has read private data (search_notes, 2026-03-01 20:03 UTC) and what strangers wrote (web_search, "
        "2026-03-01 20:03 UTC), and post would send something out of the tenant: a human has to approve it"
    )
    assert answer.as_json()["facts"] == {"mode": "ask", "sources": [PRIVATE.as_json(), UNTRUSTED.as_json()]}


def test_what_the_call_itself_reads_was_not_read_before_it() -> None:
    class Share(Post):
        labels = EVERY_LABEL

    assert asked(context(UNTRUSTED), tool=Share()) is None
    assert asked(context(PRIVATE), tool=Share()) is None


def test_a_session_whose_reading_is_not_known_is_held() -> None:
    answer = asked(context(known=False))
    assert answer is not None
    assert (answer.ok, answer.holds) == (True, True)
    assert answer.log.startswith("what this session has read is not known")


def test_a_call_that_stays_inside_is_no_concern_even_then() -> None:
    class Inside(Post):
        labels = frozenset({Label.READS_PRIVATE, Label.READS_UNTRUSTED})

    assert asked(context(known=False), tool=Inside()) is None


@pytest.mark.parametrize(
    "answer", [RuntimeError("no"), {"elsewhere"}, {Label.READS_PRIVATE}], ids=["raises", "odd", "more"]
)
def test_a_tool_that_cannot_say_what_a_call_does_does_all_that_it_declares(answer: Any) -> None:
    assert labels_of(Fickle(answer), {}) == Post.labels


def test_a_tool_may_say_that_a_call_stays_inside() -> None:
    assert asked(context(PRIVATE, UNTRUSTED), tool=Fickle(())) is None


@pytest.mark.parametrize(
    ("mode", "ok", "holds"), [("observe", True, False), ("ask", True, True), ("deny", False, False), ("?", True, True)]
)
def test_the_tenant_says_what_becomes_of_it(mode: str, ok: bool, holds: bool) -> None:
    answer = asked(context(PRIVATE, UNTRUSTED, mode=mode))
    assert answer is not None
    assert (answer.ok, answer.holds) == (ok, holds)
    assert answer.facts["mode"] == mode


def test_where_the_tenant_has_switched_it_off_nothing_is_asked() -> None:
    assert asked(context(PRIVATE, UNTRUSTED, mode="off")) is None


def test_a_refusal_says_why_and_who_can_change_that() -> None:
    answer = asked(context(PRIVATE, UNTRUSTED, mode="deny"))
    assert answer is not None
    assert answer.code == "policy_denied"
    assert "search_notes" in answer.user
    assert "ask an owner of the tenant to change the setting (/settings/safety/)" in answer.user
    assert "Do not try to reach the outside in another way." in answer.model


APPROVAL = Approval("post", uuid.UUID(int=2), "", "", None, 1, 1)  # type: ignore[arg-type]


def test_what_a_human_approved_goes_on_unless_the_tenant_denies_by_now() -> None:
    both = context(PRIVATE, UNTRUSTED)
    answer = asked(replace(both, approval=APPROVAL))
    assert answer is not None
    assert (answer.ok, answer.holds, answer.log) == (True, False, "a human has approved it")
    denied = asked(replace(context(PRIVATE, UNTRUSTED, mode="deny"), approval=APPROVAL))
    assert denied is not None
    assert denied.ok is False


class Mail(Post):
    """The same, Elevated."""

    tier = Tier.ELEVATED


def test_no_rule_approves_in_advance_what_the_gate_holds() -> None:
    rule = a_rule(tool_name="post")
    candidate = Candidate("post", Mail(), {"to": "mallory@evil.example"})
    for sources, by_rule in (((), rule.id), ((PRIVATE, UNTRUSTED), None)):
        within = replace(context(*sources), rules=(rule,))
        answer = Approving().check(candidate, within)
        assert isinstance(answer, GateResult)
        assert (answer.holds, answer.rule) == (by_rule is None, by_rule)
        assert within.used[rule.id] == (by_rule is not None)


class Plan(Tool):
    """Elevated where strangers' words may have written it."""

    name = "plan"
    description = "Plans."
    parameters: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
    tier = Tier.ELEVATED
    least_tier = Tier.WORKSPACE
    labels = frozenset()

    def tier_of(self, arguments: Any, facts: CallFacts) -> Tier | None:
        return None if facts.tainted is None else Tier.ELEVATED if facts.tainted else Tier.WORKSPACE


@pytest.mark.parametrize(
    ("sources", "known", "log"),
    [
        (
            (PRIVATE, UNTRUSTED),
            True,
            "plan is elevated, since this session has read what strangers wrote (web_search, 2026-03-01 20:03 UTC): a "
            "human has to approve it",
        ),
        ((), False, "plan is elevated, since what this session has read is not known: a human has to approve it"),
        ((PRIVATE,), True, ""),
    ],
    ids=["strangers", "unknown", "private"],
)
def test_a_tier_that_strangers_words_raised_says_where_they_were_read(sources: Any, known: bool, log: str) -> None:
    answer = Approving().check(Candidate("plan", Plan(), {}), context(*sources, known=known))
    assert isinstance(answer, GateResult)
    assert (answer.ok, answer.holds, answer.log) == (True, bool(log), log)
    recorded = [UNTRUSTED.as_json()] if known else None
    assert answer.facts == ({"sources": recorded} if log else {})


def test_a_tier_that_the_tenant_raised_says_nothing_of_what_was_read() -> None:
    within = context(UNTRUSTED)
    raised = replace(within, policy=replace(within.policy, settings={"plan": Setting(tier="elevated")}))
    answer = Approving().check(Candidate("plan", Plan(), {}), raised)
    assert isinstance(answer, GateResult)
    assert (answer.holds, answer.log) == (True, "plan is elevated: a human has to approve it")


# --- what the user names themself ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("words", "to", "named"),
    [
        ("Write to bob@example.com, please.", "bob@example.com", True),
        ("Write to Bob@Example.com.", "bob@EXAMPLE.com", True),
        ("Write to bob@example.com.evil.org", "bob@example.com", False),
        ("Write to bob@example.community", "bob@example.com", False),
        ("Write to notbob@example.com", "bob@example.com", False),
        ("Write to x+bob@example.com", "bob@example.com", False),
        ("Write to alice@example.com", "bob@example.com", False),
        ("Write to alice@example.com and bob@example.com", ["alice@example.com", "bob@example.com"], True),
        ("Write to alice@example.com", ["alice@example.com", "bob@example.com"], False),
        ("Read https://example.com/page?x=1", "https://example.com/other", True),
        ("Read https://example.com/page", "https://evil.example/example.com", False),
        ("Read https://example.com/page", "https://example.com.evil.org/", False),
        ("Read https://example.com/page", "https://example.com@evil.org/", False),
        ("Read my-example.com", "https://example.com/", False),
        ("Read www.shop.example", "www.shop.example/buy", True),
        ("Tell Bob's team", "Bob", True),
        ("Tell Bobby", "Bob", False),
        ("Tell me a b", "b", False),
        ("Tell me", "", False),
        ("Tell 7", 7, False),
        ("Tell me", None, False),
        ("Tell {'a': 1}", {"a": 1}, False),
        ("Write to bob@example.com", ["bob@example.com", 7], False),
    ],
    ids=lambda each: str(each)[:40],
)
def test_a_destination_that_stands_in_the_users_own_words_is_let_through(words: str, to: Any, named: bool) -> None:
    answer = asked(context(PRIVATE, UNTRUSTED, words=("Hello.", words)), to)
    assert answer is not None
    assert (answer.ok, answer.holds) == (True, not named)


def test_a_tool_without_destinations_is_not_let_through_by_any_words() -> None:
    class Anywhere(Post):
        destinations = ()

    answer = asked(context(PRIVATE, UNTRUSTED, words=("post mallory@evil.example",)), tool=Anywhere())
    assert answer is not None
    assert answer.holds


def test_nothing_stands_in_no_words() -> None:
    assert not all_stand_in(["bob@example.com"], [])


def test_the_feeds_of_a_service_hold_calls_of_every_tool_but_its_own() -> None:
    class Order(Post):
        name = "desk.order"
        own_feeds = feeds_of("desk", "a1")

    feeds = (TaintSource("private", feeds_of("desk", "a1"), AT), TaintSource("untrusted", feeds_of("desk", "a1"), AT))
    assert asked(context(*feeds), tool=Order()) is None
    held = [asked(context(*feeds))]
    for more in (PRIVATE, UNTRUSTED, TaintSource("untrusted", feeds_of("desktop", "a1"), AT)):
        read = context(*feeds, more, TaintSource("private", "desk.order", AT) if more is not PRIVATE else UNTRUSTED)
        held.append(asked(read, tool=Order()))
    assert [answer is not None and answer.holds for answer in held] == [True] * 4


@pytest.mark.parametrize("source", [feeds_of("desk", "b2"), "feeds of desk"], ids=["another-place", "place-unknown"])
def test_the_feeds_of_a_service_that_was_elsewhere_hold_its_calls(source: str) -> None:
    class Order(Post):
        name = "desk.order"
        own_feeds = feeds_of("desk", "a1")

    answer = asked(context(*(TaintSource(label, source, AT) for label in ("private", "untrusted"))), tool=Order())
    assert answer is not None and answer.holds
    assert "private data (feeds of desk, 2026-03-01 20:03 UTC)" in answer.log
