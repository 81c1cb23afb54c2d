"""Every URL of Toolgate."""

import re

from csp.decorators import csp_update
from django.contrib import admin
from django.contrib.auth.views import LogoutView
from django.urls import URLPattern, URLResolver, include, path, re_path
from drf_spectacular.views import SpectacularSwaggerSplitView

from approvals.web import pages as approval_pages
from approvals.web import question_pages, rule_pages
from audit.history import access_pages, change_pages, chart_pages, detail_pages
from audit.history import pages as audit_pages
from audit.history.exports import pages as export_pages
from gateway.http import problems
from gateway.oauth import views as oauth
from gateway.operations import health, metrics
from gateway.rest import keys, native, questions, schedules, telemetry, tenant, tool_calls, tools
from gateway.rest.agents import agents, grants, testing, tool_settings
from gateway.rest.approvals import alert_webhook, conditions, requests, rules
from gateway.rest.audit import changes, erasures, history, ledger
from gateway.rest.chat import conversations, views
from gateway.rest.framework import document
from gateway.rest.inbox import destinations, reminders, sent
from gateway.rest.inbox import entries as inbox
from gateway.rest.keeping import canvases as canvas_views
from gateway.rest.keeping import files as file_views
from gateway.rest.keeping import memories as memory_views
from gateway.rest.keeping import notes as note_views
from gateway.rest.keeping import profile as profile_views
from gateway.rest.keeping import tasks as task_views
from gateway.rest.members import invitations, members
from gateway.rest.models import models, providers
from gateway.rest.notifications import targets
from gateway.rest.safety import kill_switches, limits
from gateway.rest.services import connections, services
from gateway.rest.sign_in import sessions, sign_on
from gateway.rest.spend import budgets, usage
from gateway.sign_on import pages as sign_on_pages
from gateway.sign_on import settings_pages as sign_on_settings
from gateway.web import chat_pages, erasure_pages, file_pages, run_pages
from gateway.web.agents import urls as agent_urls
from gateway.web.models import urls as model_urls
from gateway.web.schedules import pages as schedule_pages
from gateway.web.spend import pages as spend_pages
from gateway.web.tools import urls as tool_urls
from notifications import pages as notification_pages
from notifications.destinations import pages as destination_pages
from notifications.inbox import pages as inbox_pages
from services.connections import pages as connection_pages
from services.web import urls as service_urls
from tenants.console import joining
from tenants.console import people as people_pages
from tenants.console import retention as retention_pages
from tenants.login import pages as tenant_pages
from tenants.login.passwords import reset_pages
from tenants.login.second_factor import passkey_step, second_step
from tenants.me import applications as client_pages
from tenants.me import confirm as confirm_pages
from tenants.me import frame as settings_pages
from tenants.me import keys as key_pages
from tenants.me import passkeys as passkey_pages
from tenants.me import password as password_pages
from tenants.me import profile as profile_pages
from tenants.me import safety as safety_pages
from tenants.me import second_factor as second_factor_pages
from tenants.me import sessions as session_pages
from tools.keeping import memory_pages
from tools.keeping import pages as keeping_pages

handler400, handler403 = "gateway.config.failures.senseless", "gateway.config.failures.forbidden"
handler500 = "gateway.config.failures.failed"
# Swagger UI sets styles on its own elements.
docs = csp_update({"style-src": ["'unsafe-inline'"]})(SpectacularSwaggerSplitView.as_view())
api = [
    path("chat", views.ChatView.as_view()),
    path("runs/<uuid:run_id>", views.RunDetailView.as_view()),
    path("runs/<uuid:run_id>/events", views.RunEventsView.as_view()),
    path("runs/<uuid:run_id>/stream-token", views.RunStreamTokenView.as_view()),
    path("runs/<uuid:run_id>/cancel", views.RunCancelView.as_view()),
    path("runs/<uuid:run_id>/tree", views.RunTreeView.as_view()),
    path("runs/<uuid:run_id>/trace", views.RunTraceView.as_view()),
    path("runs/<uuid:run_id>/replay", views.RunReplayView.as_view()),
    path("conversations/", conversations.ConversationListView.as_view()),
    path("conversations/<uuid:id>/", conversations.ConversationDetailView.as_view()),
    path("conversations/<uuid:id>/branch/", conversations.ConversationBranchView.as_view()),
    path("conversations/<uuid:id>/messages/", conversations.MessageListView.as_view()),
    path("conversations/<uuid:id>/files/", file_views.FileListView.as_view()),
    path("conversations/<uuid:id>/files/<uuid:file_id>/", file_views.FileView.as_view()),
    path(
        "conversations/<uuid:id>/files/<uuid:file_id>/content/",
        file_views.FileContentView.as_view(),
        name="file-content",
    ),
    path("conversations/<uuid:id>/files/<uuid:file_id>/restore/", file_views.FileRestoreView.as_view()),
    path("conversations/<uuid:id>/files/<uuid:file_id>/versions/", file_views.FileVersionListView.as_view()),
    path("conversations/<uuid:id>/files/<uuid:file_id>/diff/", file_views.FileDifferenceView.as_view()),
    path("conversations/<uuid:id>/canvas/", canvas_views.CanvasView.as_view()),
    path("conversations/<uuid:id>/canvas/<int:version>/", canvas_views.CanvasVersionView.as_view()),
    path("tools/", tools.ToolListView.as_view()),
    path("tools/<str:name>/access", tools.ToolAccessView.as_view()),
    path("tools/<str:name>/calls", tool_calls.ToolCallView.as_view()),
    path("agents/", agents.AgentListView.as_view()),
    path("agents/<str:slug>/", agents.AgentDetailView.as_view()),
    path("agents/<str:slug>/native", native.NativeView.as_view()),
    path("agents/<str:slug>/test/", testing.AgentTestView.as_view()),
    path("agents/<str:slug>/versions/", agents.AgentVersionListView.as_view()),
    path("agents/<str:slug>/versions/<int:number>/restore/", agents.AgentRestoreView.as_view()),
    path("tool-settings/", tool_settings.ToolSettingListView.as_view()),
    path("tool-settings/<str:name>/", tool_settings.ToolSettingView.as_view()),
    path("grants/", grants.GrantListView.as_view()),
    path("grants/<uuid:id>/", grants.GrantView.as_view()),
    path("telemetry/tool-calls", telemetry.ReportedCallsView.as_view()),
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
    path("questions/", questions.QuestionListView.as_view()),
    path("questions/<uuid:id>/", questions.QuestionDetailView.as_view()),
    path("questions/<uuid:id>/answer/", questions.AnswerView.as_view()),
    path("approval-rules/", rules.RuleListView.as_view()),
    path("approval-rules/dry-run/", rules.RuleDryRunView.as_view()),
    path("approval-rules/<uuid:id>/", rules.RuleDetailView.as_view()),
    path("connections/", connections.ConnectionListView.as_view()),
    path("connections/<str:slug>/", connections.ConnectionView.as_view()),
    path("connections/<str:slug>/connect/", connections.ConnectView.as_view()),
    path("access-conditions/", conditions.ConditionListView.as_view()),
    path("access-conditions/dry-run/", conditions.ConditionDryRunView.as_view()),
    path("access-conditions/<uuid:id>/", conditions.ConditionDetailView.as_view()),
    path("alert-level/", conditions.AlertLevelView.as_view()),
    path("alert-level/webhook/", alert_webhook.AlertWebhookView.as_view()),
    path("providers/", providers.ProviderListView.as_view()),
    path("providers/<str:slug>/", providers.ProviderDetailView.as_view()),
    path("providers/<str:slug>/test/", providers.ProviderTestView.as_view()),
    path("models/", models.ModelsView.as_view()),
    path("me/", profile_views.MeView.as_view()),
    path("memories/", memory_views.MemoryListView.as_view()),
    path("memories/search/", memory_views.MemorySearchView.as_view()),
    path("memories/<uuid:id>/", memory_views.MemoryView.as_view()),
    path("notes/", note_views.NoteListView.as_view()),
    path("notes/search/", note_views.NoteSearchView.as_view()),
    path("notes/<uuid:id>/", note_views.NoteView.as_view()),
    path("tasks/", task_views.TaskListView.as_view()),
    path("tasks/<uuid:id>/", task_views.TaskView.as_view()),
    path("inbox/", inbox.InboxView.as_view()),
    path("inbox/unread/", inbox.InboxUnreadView.as_view()),
    path("inbox/read/", inbox.InboxReadView.as_view()),
    path("inbox/<uuid:id>/", inbox.InboxEntryView.as_view()),
    path("messages/", sent.SentListView.as_view()),
    path("messages/<uuid:id>/", sent.SentView.as_view()),
    path("reminders/", reminders.ReminderListView.as_view()),
    path("reminders/<uuid:id>/", reminders.ReminderView.as_view()),
    path("destinations/", destinations.DestinationListView.as_view()),
    path("destinations/<uuid:id>/", destinations.DestinationView.as_view()),
    path("destinations/<uuid:id>/verify/", destinations.DestinationVerifyView.as_view()),
    path("schedules/", schedules.ScheduleListView.as_view()),
    path("schedules/<uuid:id>/", schedules.ScheduleView.as_view()),
    path("schedules/<uuid:id>/run/", schedules.ScheduleRunView.as_view()),
    path("schedules/<uuid:id>/slots/", schedules.ScheduleSlotsView.as_view()),
    path("services/", services.ServiceListView.as_view()),
    path("services/catalogue/", services.CatalogueView.as_view()),
    path("services/<str:slug>/", services.ServiceDetailView.as_view()),
    path("services/<str:slug>/refresh/", services.ServiceRefreshView.as_view()),
    path("services/<str:slug>/test/", services.ServiceTestView.as_view()),
    path("services/<str:slug>/tools/<str:tool>/", services.ServiceToolView.as_view()),
    path("services/<str:slug>/tools/<str:tool>/accept/", services.ServiceToolAcceptView.as_view()),
    path("budgets/", budgets.BudgetListView.as_view()),
    path("budgets/<uuid:id>/", budgets.BudgetView.as_view()),
    path("usage/", usage.UsageView.as_view()),
    path("usage.csv", usage.UsageFileView.as_view()),
    path("changes/", changes.ChangeListView.as_view()),
    path("limits/", limits.LimitsView.as_view()),
    path("kill-switches/", kill_switches.KillSwitchListView.as_view()),
    path("kill-switches/<uuid:id>/", kill_switches.KillSwitchView.as_view()),
    path("keys/", keys.KeyListView.as_view()),
    path("keys/<uuid:id>/", keys.KeyView.as_view()),
    path("keys/<uuid:id>/rotate/", keys.KeyRotateView.as_view()),
    path("sessions/", sessions.SessionListView.as_view()),
    path("sessions/<uuid:id>/", sessions.SessionView.as_view()),
    path("notification-targets/", targets.TargetListView.as_view()),
    path("notification-targets/<uuid:id>/", targets.TargetView.as_view()),
    path("notification-targets/<uuid:id>/test/", targets.TargetTestView.as_view()),
    path("members/", members.MemberListView.as_view()),
    path("members/<uuid:id>/", members.MemberView.as_view()),
    path("invitations/", invitations.InvitationListView.as_view()),
    path("invitations/<uuid:id>/", invitations.InvitationView.as_view()),
    path("sign-on/", sign_on.SignOnListView.as_view()),
    path("sign-on/<uuid:id>/", sign_on.SignOnView.as_view()),
    path("sign-on/<uuid:id>/test/", sign_on.SignOnTestView.as_view()),
    path("erasures/", erasures.ErasureListView.as_view()),
    path("tenant/", tenant.TenantView.as_view()),
]
urlpatterns: list[URLPattern | URLResolver] = [
    path("", chat_pages.chat, name="chat"),
    path("conversations/", include(file_pages.urlpatterns)),
    path("history/", audit_pages.history, name="history"),
    path("history/live/", audit_pages.live, name="history-live"),
    path("history/charts/", chart_pages.history_charts, name="history-charts"),
    path("history/export.<str:form>", export_pages.export, name="history-export"),
    path("history/access/", access_pages.access, name="history-access"),
    path("history/<uuid:call_id>/erase/", erasure_pages.erase_call, name="erase-call"),
    path("history/runs/<uuid:run_id>/", run_pages.run_timeline, name="run-timeline"),
    path("history/<uuid:call_id>/", detail_pages.detail, name="history-detail"),
    path("approvals/", include(approval_pages.urlpatterns)),
    path("questions/", include(question_pages.urlpatterns)),
    path("approvals/rules/", include(rule_pages.urlpatterns)),
    path("", include(keeping_pages.urlpatterns)),
    path("inbox/", include(inbox_pages.urlpatterns)),
    path("", include(memory_pages.urlpatterns)),
    path("settings/", include(settings_pages.urlpatterns)),
    path("settings/connections/", include(connection_pages.urlpatterns)),
    path("settings/models/", include(model_urls.urlpatterns)),
    path("settings/agents/", include(agent_urls.urlpatterns)),
    path("settings/tools/", include(tool_urls.urlpatterns)),
    path("settings/services/", include(service_urls.urlpatterns)),
    path("settings/retention/", include(retention_pages.urlpatterns)),
    path("settings/notifications/", include(notification_pages.urlpatterns)),
    path("settings/destinations/", include(destination_pages.urlpatterns)),
    path("settings/changes/", include(change_pages.urlpatterns)),
    path("settings/people/", include(people_pages.urlpatterns)),
    path("settings/safety/", include(safety_pages.urlpatterns)),
    path("settings/spend/", include(spend_pages.urlpatterns)),
    path("settings/schedules/", include(schedule_pages.urlpatterns)),
    path("settings/profile/", include(profile_pages.urlpatterns)),
    path("settings/keys/", include(key_pages.urlpatterns)),
    path("settings/applications/", include(client_pages.urlpatterns)),
    path("settings/password/", include(password_pages.urlpatterns)),
    path("settings/passkeys/", include(passkey_pages.urlpatterns)),
    path("settings/sessions/", include(session_pages.urlpatterns)),
    path("settings/sign-on/", include(sign_on_settings.urlpatterns)),
    path("settings/second-factor/", include(second_factor_pages.urlpatterns)),
    path("connections/", include(connection_pages.outside)),
    path("accounts/login/", tenant_pages.LogIn.as_view(), name="login"),
    path("accounts/second-factor/", second_step.ask, name="second-factor"),
    path("accounts/single-sign-on/", include(sign_on_pages.urlpatterns)),
    path("accounts/passkey/", passkey_step.ask, name="passkey"),
    path("accounts/passkey/challenge/", passkey_step.challenge, name="passkey-challenge"),
    path("accounts/confirm/", confirm_pages.confirm, name="confirm"),
    path("accounts/password-reset/", reset_pages.ask, name="password-reset"),
    path("accounts/password-reset/<uidb64>/<token>/", reset_pages.Confirm.as_view(), name="password-reset-confirm"),
    path("accounts/invitation/", joining.join, name="join"),
    path("accounts/invitation/<str:token>/", joining.open_link, name="invitation"),
    path("accounts/logout/", LogoutView.as_view(), name="logout"),
    path("accounts/tenant/", tenant_pages.switch_tenant, name="switch-tenant"),
    re_path(rf"^{re.escape(oauth.WELL_KNOWN)}(?P<path>/.+)?$", oauth.metadata),
    path("oauth/authorize", oauth.authorize, name="oauth-authorize"),
    path("oauth/token", oauth.token),
    path("oauth/revoke", oauth.revoke),
    path("oauth/register", oauth.register),
    path("webhooks/alert-level/<uuid:tenant_id>", alert_webhook.receive),
    path("admin/", admin.site.urls),
    path("api/v1/", include(api)),
    path("api/schema/", document.DocumentView.as_view(), name="schema"),
    path("api/docs/", docs, name="docs"),
    re_path("^api/", problems.nowhere),
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    path("metrics", metrics.metrics),
]
