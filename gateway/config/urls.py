"""Every URL of Toolgate."""

from csp.decorators import csp_update
from django.contrib import admin
from django.contrib.auth.views import LogoutView
from django.urls import URLPattern, URLResolver, include, path, re_path
from drf_spectacular.views import SpectacularSwaggerSplitView

from approvals.web import pages as approval_pages
from approvals.web import rule_pages
from audit.history import access_pages, chart_pages, detail_pages, download_pages
from audit.history import pages as audit_pages
from gateway.http import problems
from gateway.operations import health, metrics
from gateway.rest import tool_calls, tools
from gateway.rest.approvals import requests, rules
from gateway.rest.audit import erasures, history, ledger
from gateway.rest.chat import conversations, views
from gateway.rest.framework import document
from gateway.rest.services import services
from gateway.web import chat_pages, erasure_pages, run_pages
from tenants.login import pages as tenant_pages

handler400, handler500 = "gateway.config.failures.senseless", "gateway.config.failures.failed"
# Swagger UI sets styles on its own elements.
docs = csp_update({"style-src": ["'unsafe-inline'"]})(SpectacularSwaggerSplitView.as_view())
api = [
    path("chat", views.ChatView.as_view()),
    path("runs/<uuid:run_id>", views.RunDetailView.as_view()),
    path("runs/<uuid:run_id>/events", views.RunEventsView.as_view()),
    path("runs/<uuid:run_id>/stream-token", views.RunStreamTokenView.as_view()),
    path("runs/<uuid:run_id>/cancel", views.RunCancelView.as_view()),
    path("runs/<uuid:run_id>/trace", views.RunTraceView.as_view()),
    path("runs/<uuid:run_id>/replay", views.RunReplayView.as_view()),
    path("conversations/", conversations.ConversationListView.as_view()),
    path("conversations/<uuid:id>/", conversations.ConversationDetailView.as_view()),
    path("conversations/<uuid:id>/messages/", conversations.MessageListView.as_view()),
    path("tools/", tools.ToolListView.as_view()),
    path("tools/<str:name>/access", tools.ToolAccessView.as_view()),
    path("tools/<str:name>/calls", tool_calls.ToolCallView.as_view()),
    path("tool-calls/", history.ToolCallListView.as_view()),
    path("tool-calls/<uuid:id>/", history.ToolCallDetailView.as_view(), name="tool-call"),
    path("tool-calls/<uuid:id>/receipt/", history.ReceiptView.as_view(), name="tool-call-receipt"),
    path("ledger/checkpoint", ledger.CheckpointView.as_view()),
    path("ledger/keys", ledger.KeysView.as_view()),
    path("approvals/", requests.ApprovalListView.as_view()),
    path("approvals/<uuid:id>/", requests.ApprovalDetailView.as_view()),
    path("approvals/<uuid:id>/approve/", requests.ApproveView.as_view()),
    path("approvals/<uuid:id>/deny/", requests.DenyView.as_view()),
    path("approvals/<uuid:id>/cancel/", requests.CancelView.as_view()),
    path("approval-rules/", rules.RuleListView.as_view()),
    path("approval-rules/dry-run/", rules.RuleDryRunView.as_view()),
    path("approval-rules/<uuid:id>/", rules.RuleDetailView.as_view()),
    path("services/", services.ServiceListView.as_view()),
    path("services/<str:slug>/", services.ServiceDetailView.as_view()),
    path("services/<str:slug>/refresh/", services.ServiceRefreshView.as_view()),
    path("services/<str:slug>/test/", services.ServiceTestView.as_view()),
    path("services/<str:slug>/tools/<str:tool>/", services.ServiceToolView.as_view()),
    path("services/<str:slug>/tools/<str:tool>/accept/", services.ServiceToolAcceptView.as_view()),
    path("erasures/", erasures.ErasureListView.as_view()),
    path("tenant/", erasures.TenantView.as_view()),
]
urlpatterns: list[URLPattern | URLResolver] = [
    path("", chat_pages.chat, name="chat"),
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
