"""The URLs under `/settings/models/`."""

from django.urls import path

from gateway.web.models import pages

urlpatterns = [
    path("", pages.models, name="settings-models"),
    # No slug is "-".
    path("-/new/", pages.new, name="settings-provider-new"),
    path("<str:slug>/", pages.provider, name="settings-provider"),
    path("<str:slug>/test/", pages.test, name="settings-provider-test"),
    path("<str:slug>/remove/", pages.remove, name="settings-provider-remove"),
]
