"""Why a budget refuses a run or a turn, and what is wrong with what owners say of budgets.

Refused                     the answer's HTTP status, code and words
├── BudgetRefusal           what a turn is refused by
│   ├── BudgetExhausted     402 budget_exhausted; 429 where requests are counted
│   ├── ModelUnpriced       403 model_unpriced
│   └── RunLimitSpent       what a run may use with all that it begins
│       ├── RunTokensSpent  200 run_tokens_spent
│       └── RunMoneySpent   200 run_usd_spent
├── InvalidBudget           400 invalid_request
├── InvalidUsage            400 invalid_request
├── NoSuchBudget            404 not_found
└── BudgetExists            409 budget_exists
"""

from decimal import ROUND_UP, Decimal
from typing import Any

from tenants.errors import Refused

_WHOSE = {
    "tenant": "Your tenant's budget",
    "user": "Your budget",
    "agent": "The agent's budget",
    "key": "The API key's budget",
}
_WINDOWS = {"day": "for today (UTC)", "month": "for this month (UTC)", "total": "in all"}
_AGAIN = {"day": " It begins anew at midnight (UTC).", "month": " It begins anew on the first of the next month (UTC)."}
_BUSY_SECONDS = 5
_OWNERS = "An owner of your tenant can raise it under Settings, Spend."


class BudgetRefusal(Refused):
    """A budget does not let the turn be asked for."""

    @classmethod
    def again(cls, code: str, detail: str, status: int) -> "BudgetRefusal":
        """The refusal that a run's row quotes."""
        found = cls(detail)
        found.code, found.status = code, status
        return found


class BudgetExhausted(BudgetRefusal):
    """Nothing that is of use can be asked for within the budget."""

    status = 402
    code = "budget_exhausted"

    def __init__(self, budget: dict[str, Any], *, busy: bool = False):
        amount = amount_of(budget["unit"], Decimal(budget["limit"]))
        named = f"{_WHOSE[budget['scope']]} of {amount} {_WINDOWS[budget['window']]}"
        if busy:
            why = f"{named} is reserved by chats that are under way. Try again when they have ended."
        else:
            why = f"{named} is spent, or what is left is too little for this request."
        seconds = budget["retry_after"]
        again = "" if busy else _AGAIN.get(budget["window"], "")
        super().__init__(f"{why}{again} {_OWNERS}")
        self.retry_after = _BUSY_SECONDS if busy else None if seconds is None else max(1, int(seconds))
        if budget["unit"] == "requests":
            self.status = 429


class ModelUnpriced(BudgetRefusal):
    """A budget of money, or a limit of a run's, cannot count a model whose price nobody knows."""

    status = 403
    code = "model_unpriced"

    def __init__(self, model: str, refusal: dict[str, Any]):
        of_run = refusal["scope"] == "run"
        why = "what a run of its agent may cost is limited" if of_run else "a budget of money applies to you"
        super().__init__(
            f"Nobody knows the price of {model[:100]}, and {why}. An owner of your tenant "
            "can set its price under Settings, Models; or choose another model."
        )


class RunLimitSpent(BudgetRefusal):
    """A run has used what it may, with all that it began: it ends with what it has."""

    status = 200

    def __init__(self, why: str, *, given: bool):
        above = ", or of the agent whose run began it," if given else ""
        who = f"An owner of your tenant can raise the limit of its agent{above} under Settings, Agents."
        super().__init__(f"{why} {who}")


class RunTokensSpent(RunLimitSpent):
    """Of its tokens another turn does not fit."""

    code = "run_tokens_spent"

    def __init__(self, limit: dict[str, Any], needed: int):
        most, used = int(limit["limit"]), int(limit["used"])
        why = f"{used:,} are used, and another turn can take" if used else "Its first turn can take"
        said = f"This run may use {most:,} tokens with all that it begins. {why} {needed:,}."
        super().__init__(said, given=limit["given"])


class RunMoneySpent(RunLimitSpent):
    """Of its money another turn does not fit."""

    code = "run_usd_spent"

    def __init__(self, limit: dict[str, Any], needed: Decimal):
        most, used = Decimal(limit["limit"]), Decimal(limit["used"])
        why = f"{_rounded(used)} is used, and another turn can cost" if used else "Its first turn can cost"
        said = f"This run may cost {amount_of('usd', most)} with all that it begins. {why} {_rounded(needed)}."
        super().__init__(said, given=limit["given"])


class InvalidBudget(Refused):
    """What is asked for is no budget."""


class InvalidUsage(Refused):
    """What is asked of the usage makes no sense."""


class NoSuchBudget(Refused):
    """The tenant has no such budget, or the caller may not see it."""

    status = 404
    code = "not_found"

    def __init__(self, budget_id: object):
        super().__init__(f"There is no budget {budget_id}.")


class BudgetExists(Refused):
    """There is one already of this scope, unit and window."""

    status = 409
    code = "budget_exists"

    def __init__(self) -> None:
        super().__init__("There is a budget of this scope, unit and window already. Change its limit.")


# Codes of what ends a run before its first turn, too, with what it has.
RUN_LIMITS = frozenset({RunTokensSpent.code, RunMoneySpent.code})


def _rounded(amount: Decimal) -> str:
    return amount_of("usd", amount.quantize(Decimal("0.000001"), ROUND_UP))


def amount_of(unit: str, amount: Decimal) -> str:
    """An amount for people: "US$0.10", "1,000 tokens"."""
    plain = f"{amount.normalize():,f}"
    if unit != "usd":
        return f"{plain} {unit}"
    whole, _, cents = plain.partition(".")
    return f"US${whole}.{cents.ljust(2, '0')}"
