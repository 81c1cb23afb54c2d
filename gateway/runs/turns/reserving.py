"""A provider that reserves of the budgets before each asking, and asks for no longer answer than they afford."""

from dataclasses import dataclass, replace

from gateway.budgets import reservations
from gateway.budgets.prices import Price
from gateway.budgets.reservations import Asking, ReservationLost
from gateway.providers.errors import ProviderError
from gateway.providers.interface import Answer, Family, OnOpaque, OnText, Opaque, Prompt, Provider, Unsupported
from gateway.runs.execution import RunExecution, RunLost


def within_budgets(execution: RunExecution, provider: Provider, turn: int, model: str, price: Price | None) -> Provider:
    """The provider itself, or for a run within budgets or a limit of tokens one that reserves before each asking.

    `model` is "provider/model". What it asks raises BudgetRefusal too, and RunLost.
    """
    run = execution.view.run
    if not run.budgeted:
        return provider
    asking = Asking(execution.scope, run.id, run.fence, turn, model, price)
    return _Reserving(provider, execution, asking, provider.name, provider.family)


@dataclass(slots=True)
class _Reserving:
    """See `gateway.providers.interface.Provider`."""

    provider: Provider
    execution: RunExecution
    asking: Asking
    name: str
    family: Family

    async def ask(self, prompt: Prompt, on_text: OnText | None = None, on_opaque: OnOpaque | None = None) -> Answer:
        """Reserve, and ask; what cannot have cost anything is given back."""
        heard = False

        def hear(text: str) -> None:
            nonlocal heard
            heard = True
            if on_text is not None:
                on_text(text)

        def see(part: Opaque) -> None:
            nonlocal heard
            heard = True
            if on_opaque is not None:
                on_opaque(part)

        try:
            granted = await reservations.reserve(self.asking, prompt, self.execution.seconds_left)
        except ReservationLost:
            raise RunLost from None
        if granted is not None:
            prompt = replace(prompt, options=replace(prompt.options, max_output_tokens=granted))
        streams = (hear, see) if on_text is not None else ()
        try:
            return await self.provider.ask(prompt, *streams)
        except Unsupported:
            await self._release(granted)
            raise
        except ProviderError as error:
            # No provider asks money for an HTTP status instead of an answer, or without a connection.
            if not heard and (error.status is not None or not error.sent):
                await self._release(granted)
            raise

    async def _release(self, granted: int | None) -> None:
        if granted is not None:
            await reservations.release(self.asking)

    async def close(self) -> None:
        """Close the provider's connections."""
        await self.provider.close()
