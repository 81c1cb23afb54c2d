"""The gate `taint`: would the call complete what must not come together in one session without a human.

A session that has read private data, and what strangers wrote, may not also reach outside by itself: the strangers'
words could have made the model send the data away. What a call sends was read before it, so what its own answer reads
does not count.
"""

from dataclasses import replace
from datetime import datetime
from typing import Any

from tools.gates.destinations import all_stand_in, destinations_of
from tools.gates.interface import Candidate, Gate, GateContext, GateResult, Occasion, Taint, TaintSource
from tools.gates.refusals import DO_NOT_TRY, Words, unheard
from tools.interface import Tool, labels_of
from tools.labels import PRIVATE, UNTRUSTED, Label, in_words

OFF, OBSERVE, ASK, DENY = "off", "observe", "ask", "deny"
# Of each kind, as they are shown and recorded: the newest.
MOST_SOURCES = 5
_READ = {PRIVATE: "private data", UNTRUSTED: "what strangers wrote"}


class Tainted(Gate):
    """A call that leaves the tenant, of a session that has read both, is held for a human, or refused, as the tenant
    says.

    It passes where the user has named every destination of it in their own words.
    """

    name = "taint"
    code = "policy_denied"
    passed = "What the session has read does not keep it inside"
    refused = "It would reach outside after reading private data and what strangers wrote"
    occasions = frozenset({Occasion.NEW, Occasion.RESUMED})

    def concerns(self, candidate: Candidate, context: GateContext) -> bool:
        """Whether the call would complete the three, or nobody knows whether it does."""
        return completes(candidate, context)

    def check(self, candidate: Candidate, context: GateContext) -> GateResult:
        """By the tenant's setting; one that is none of them holds."""
        tool, taint, mode = candidate.known_tool, context.caller.taint, context.policy.taint
        facts = {"mode": mode, "sources": _recorded(taint)}
        why = _why(tool.name, taint)
        if mode != DENY and context.approval is not None:
            return self.passes(log="a human has approved it", facts=facts)
        if named := _named(candidate, context):
            return self.passes(log=f"{', '.join(named)} stands in the user's own words", facts=facts)
        if mode == OBSERVE:
            return self.passes(log=f"{why}: a human would have to approve it", facts=facts)
        if mode != DENY and not context.policy.asks_humans:
            words = unheard(tool.name)
            return self.refuses(
                model=words.to_model(DO_NOT_TRY),
                user=words.to_user(),
                log=words.log,
                code="permission_denied",
                facts=facts,
            )
        if mode != DENY:
            return self.passes(holds=True, log=f"{why}: a human has to approve it", facts=facts)
        words = Words(
            f"{tool.name} did not run: {why}, which your tenant does not let a model do.",
            "Name the recipient yourself in a message, begin a new conversation, or ask an owner of the tenant to "
            "change the setting (/settings/safety/).",
            why,
        )
        return self.refuses(
            model=words.to_model("Do not try to reach the outside in another way."),
            user=words.to_user(),
            log=words.log,
            facts=facts,
        )


def completes(candidate: Candidate, context: GateContext) -> bool:
    """Whether the call leaves the tenant in a session that has read both, or whose reading is not known."""
    tool, taint = candidate.tool, context.caller.taint
    if tool is None or context.policy.taint == OFF:
        return False
    if taint is not None and not _besides_feeds(tool, taint).complete:
        return False
    labels = tool.labels if candidate.arguments is None else labels_of(tool, candidate.arguments)
    return Label.LEAVES_TENANT in labels


def _besides_feeds(tool: Tool, taint: Taint) -> Taint:
    """What has been read, but for the feeds of the tool's own service: what they say goes back to where it is from."""
    if not tool.own_feeds:
        return taint
    return replace(taint, sources=tuple(each for each in taint.sources if each.source != tool.own_feeds))


def holds(candidate: Candidate, context: GateContext) -> bool:
    """Whether a human has to say yes to the call because of what the session has read, whatever rules say."""
    return completes(candidate, context) and context.policy.taint != OBSERVE and not _named(candidate, context)


def raises_tier(candidate: Candidate, context: GateContext) -> bool:
    """Whether the call is Elevated only because of what strangers wrote and its session has read, or may have read."""
    clean = replace(context.facts, tainted=False)
    lowest = context.policy.tier_of(candidate.known_tool, candidate.arguments, clean)
    return lowest.rank < context.tier(candidate).rank


def strangers_words(taint: Taint | None) -> tuple[str, list[dict[str, Any]] | None]:
    """What strangers wrote and the session has read: where, in words, and as decisions record it."""
    if taint is None:
        return "what this session has read is not known", None
    read = taint.of(UNTRUSTED)
    return f"this session has read {_READ[UNTRUSTED]} ({_sources(read)})", [
        each.as_json() for each in read[:MOST_SOURCES]
    ]


def _named(candidate: Candidate, context: GateContext) -> tuple[str, ...]:
    """The destinations of the call, where all of them stand in the user's own words; else none."""
    taint = context.caller.taint
    found = destinations_of(candidate.known_tool, candidate.arguments)
    if taint is None or not found or not all_stand_in(found, taint.own_words):
        return ()
    return found


def _why(name: str, taint: Taint | None) -> str:
    if taint is None:
        return f"what this session has read is not known, and {name} would send something out of the tenant"
    read = " and ".join(f"{said} ({_sources(taint.of(label))})" for label, said in _READ.items())
    return f"this session has read {read}, and {name} would send something out of the tenant"


def _sources(found: list[TaintSource]) -> str:
    named = ", ".join(f"{in_words(each.source)}, {_at(each.at)}" for each in found[:MOST_SOURCES])
    return f"{named}, and {len(found) - MOST_SOURCES} more" if len(found) > MOST_SOURCES else named


def _at(moment: str) -> str:
    try:
        return f"{datetime.fromisoformat(moment):%Y-%m-%d %H:%M} UTC"
    except ValueError:
        return moment


def _recorded(taint: Taint | None) -> list[dict[str, Any]] | None:
    if taint is None:
        return None
    return [each.as_json() for label in _READ for each in taint.of(label)[:MOST_SOURCES]]
