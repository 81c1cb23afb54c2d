"""The URLs under `/settings/agents/`."""

from django.urls import path

from gateway.web.agents import pages

urlpatterns = [
    path("", pages.agents, name="settings-agents"),
    # No slug is "-".
    path("-/new/", pages.new, name="settings-agent-new"),
    path("<str:slug>/", pages.agent, name="settings-agent"),
    path("<str:slug>/versions/", pages.history, name="settings-agent-versions"),
    path("<str:slug>/versions/<int:number>/", pages.restore, name="settings-agent-restore"),
    path("<str:slug>/archive/", pages.archive, name="settings-agent-archive"),
]
