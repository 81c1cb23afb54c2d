"""What embedding texts costs: charged as the most that it can use before the provider is asked, settled after it.

Where nobody settles it, what was charged stays, as the reservation of a turn does.
"""

from dataclasses import dataclass

from gateway.budgets.errors import BudgetExhausted, ModelUnpriced
from gateway.budgets.prices import Price
from tenants.scope.functions import Function
from tenants.scope.transactions import TenantScope

_CHARGE = Function(
    "charge_embedding", lambda *columns: columns, columns="outcome, usage_id, parts::text, refusal",
    model="text", input_tokens="int8", input_rate="numeric", price="text",
)  # fmt: skip
_SETTLE = Function("settle_embedding", lambda nothing: None, usage_id="int8", parts="text", tokens="int8")
# What a provider may add to each text.
_TEXT = 10


@dataclass(frozen=True, slots=True)
class Charge:
    """What was charged for one request."""

    scope: TenantScope
    usage_id: int
    parts: str

    async def settle(self, tokens: int) -> None:
        """Correct it to the tokens that were used; 0: asking cannot have cost anything."""
        await _SETTLE.alone(self.scope, usage_id=self.usage_id, parts=self.parts, tokens=tokens)


async def charge(scope: TenantScope, model: str, price: Price | None, texts: list[str]) -> Charge:
    """Charge the member's budgets and the tenant's, or raise BudgetExhausted or ModelUnpriced; `model` is
    "provider/model"."""
    # A token stands for a byte or more.
    tokens = sum(_TEXT + len(text.encode("utf-8", "surrogatepass")) for text in texts)
    rate = None if price is None else price.highest[0]
    name = "" if price is None else price.name
    [(outcome, usage_id, parts, refusal)] = await _CHARGE.alone(
        scope, model=model, input_tokens=tokens, input_rate=rate, price=name
    )
    if outcome == "unpriced":
        raise ModelUnpriced(model, refusal)
    if outcome == "spent":
        raise BudgetExhausted(refusal)
    return Charge(scope, usage_id, parts)
