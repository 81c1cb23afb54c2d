"""Every address of the house."""

from csp.decorators import csp_update
from django.contrib import admin
from django.contrib.auth.views import LogoutView
from django.urls import URLPattern, URLResolver, include, path, re_path
from drf_spectacular.views import SpectacularSwaggerSplitView

from approvals import pages as approval_pages
from approvals import rule_pages
from audit.history import access_pages, chart_pages, detail_pages, download_pages
from audit.history import pages as audit_pages
from gateway import erasure_pages, health, metrics, pages, run_pages
from gateway.api import (
    approval_rules,
    approvals,
    chat,
    conversations,
    document,
    erasures,
    history,
    ledger,
    problems,
    tools,
)
from tenants import pages as tenant_pages

handler400, handler500 = "gateway.failures.senseless", "gateway.failures.failed"
# Swagger UI sets styles on its own elements.
docs = csp_update({"style-src": ["'unsafe-inline'"]})(SpectacularSwaggerSplitView.as_view())
api = [
    path("chat", chat.ChatView.as_view()),
    path("runs/<uuid:run_id>", chat.RunDetailView.as_view()),
    path("runs/<uuid:run_id>/events", chat.RunEventsView.as_view()),
    path("runs/<uuid:run_id>/stream-token", chat.RunStreamTokenView.as_view()),
    path("runs/<uuid:run_id>/cancel", chat.RunCancelView.as_view()),
    path("runs/<uuid:run_id>/trace", chat.RunTraceView.as_view()),
    path("runs/<uuid:run_id>/replay", chat.RunReplayView.as_view()),
    path("conversations/", conversations.ConversationListView.as_view()),
    path("conversations/<uuid:id>/", conversations.ConversationDetailView.as_view()),
    path("conversations/<uuid:id>/messages/", conversations.MessageListView.as_view()),
    path("tools/", tools.ToolListView.as_view()),
    path("tools/<str:name>/access", tools.ToolAccessView.as_view()),
    path("tool-calls/", history.ToolCallListView.as_view()),
    path("tool-calls/<uuid:id>/", history.ToolCallDetailView.as_view(), name="tool-call"),
    path("tool-calls/<uuid:id>/receipt/", history.ReceiptView.as_view(), name="tool-call-receipt"),
    path("ledger/checkpoint", ledger.CheckpointView.as_view()),
    path("ledger/keys", ledger.KeysView.as_view()),
    path("approvals/", approvals.ApprovalListView.as_view()),
    path("approvals/<uuid:id>/", approvals.ApprovalDetailView.as_view()),
    path("approvals/<uuid:id>/approve/", approvals.ApproveView.as_view()),
    path("approvals/<uuid:id>/deny/", approvals.DenyView.as_view()),
    path("approvals/<uuid:id>/cancel/", approvals.CancelView.as_view()),
    path("approval-rules/", approval_rules.RuleListView.as_view()),
    path("approval-rules/dry-run/", approval_rules.RuleDryRunView.as_view()),
    path("approval-rules/<uuid:id>/", approval_rules.RuleDetailView.as_view()),
    path("erasures/", erasures.ErasureListView.as_view()),
    path("tenant/", erasures.TenantView.as_view()),
]
urlpatterns: list[URLPattern | URLResolver] = [
    path("", pages.chat, name="chat"),
    path("history/", audit_pages.history, name="history"),
    path("history/live/", audit_pages.live, name="history-live"),
    path("history/charts/", chart_pages.history_charts, name="history-charts"),
    path("history/export.<str:form>", download_pages.export, name="history-export"),
    path("history/access/", access_pages.access, name="history-access"),
    path("history/<uuid:call_id>/erase/", erasure_pages.erase_call, name="erase-call"),
    path("history/runs/<uuid:run_id>/", run_pages.run_timeline, name="run-timeline"),
    path("history/<uuid:call_id>/", detail_pages.detail, name="history-detail"),
    path("approvals/", include(approval_pages.urlpatterns)),
    path("approvals/rules/", include(rule_pages.urlpatterns)),
    path("accounts/login/", tenant_pages.LogIn.as_view(), name="login"),
    path("accounts/logout/", LogoutView.as_view(), name="logout"),
    path("accounts/tenant/", tenant_pages.switch_tenant, name="switch-tenant"),
    path("admin/", admin.site.urls),
    path("api/v1/", include(api)),
    path("api/schema/", document.DocumentView.as_view(), name="schema"),
    path("api/docs/", docs, name="docs"),
    re_path("^api/", problems.nowhere),
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    path("metrics", metrics.metrics),
]
