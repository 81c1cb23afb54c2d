"""The URLs under `/settings/tools/`."""

from django.urls import path

from gateway.web.tools import fetch_hosts, pages

urlpatterns = [
    path("", pages.servers, name="settings-tools"),
    # No tool is "-".
    path("-/", pages.built_in, name="settings-tools-built-in"),
    path("-/<str:slug>/", pages.of_service, name="settings-tools-service"),
    path("web_fetch/hosts/", fetch_hosts.change, name="settings-fetch-hosts"),
    path("<str:name>/", pages.tool, name="settings-tool"),
    path("<str:name>/grants/", pages.grant, name="settings-tool-grant"),
    path("<str:name>/grants/<uuid:id>/", pages.ungrant, name="settings-tool-ungrant"),
]
