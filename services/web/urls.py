"""The URLs under `/settings/services/`."""

from django.urls import path

from services.web import adding, catalogue_pages, feeds, pages, tool_pages

urlpatterns = [
    path("", pages.services, name="settings-services"),
    # No slug is "-".
    path("-/new/", adding.new, name="settings-service-new"),
    path("-/catalogue/<str:name>/", catalogue_pages.add, name="settings-service-entry"),
    path("<str:slug>/", pages.service, name="settings-service"),
    path("<str:slug>/settings/", pages.edit, name="settings-service-edit"),
    path("<str:slug>/feeds/", feeds.feeds, name="settings-service-feeds"),
    path("<str:slug>/test/", pages.test, name="settings-service-test"),
    path("<str:slug>/refresh/", pages.refresh, name="settings-service-refresh"),
    path("<str:slug>/remove/", pages.remove, name="settings-service-remove"),
    path("<str:slug>/tools/", tool_pages.several, name="settings-service-tools"),
    path("<str:slug>/tools/<str:name>/", tool_pages.tool, name="settings-service-tool"),
    path("<str:slug>/tools/<str:name>/accept/", tool_pages.accept, name="settings-service-accept"),
]
