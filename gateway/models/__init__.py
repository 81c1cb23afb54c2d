"""The models of this app, a module for each subject; budgets, providers and schedules have theirs."""

from gateway.budgets.models import Budget, BudgetWindow, TurnReservation, TurnUsage
from gateway.models.agents import Agent, AgentVersion
from gateway.models.conversations import Conversation, Kind
from gateway.models.messages import Continuation, Message, RunRequest
from gateway.models.runs import Run, Turn
from gateway.providers.routing.models import ModelProvider, ModelSettings
from gateway.schedules.models import Schedule, ScheduleSlot

__all__ = [
    "Agent",
    "AgentVersion",
    "Budget",
    "BudgetWindow",
    "Continuation",
    "Conversation",
    "Kind",
    "Message",
    "ModelProvider",
    "ModelSettings",
    "Run",
    "RunRequest",
    "Schedule",
    "ScheduleSlot",
    "Turn",
    "TurnReservation",
    "TurnUsage",
]
