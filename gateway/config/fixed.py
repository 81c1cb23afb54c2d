"""Settings that no environment changes: what is installed; templates, REST, the policy of pages, logs."""

from gateway.process import environment

INSTALLED_APPS = [
    "unfold",
    "unfold.contrib.filters",
    "django.contrib.admin",
    # Before Django's accounts, two of whose commands it replaces.
    "tenants.replaced_commands",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "csp",
    "django_filters",
    "django_htmx",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "allauth",
    "allauth.account",
    "allauth.idp.oidc",
    "allauth.mfa",
    "tenants",
    "audit",
    "tools",
    "services",
    "notifications",
    "approvals",
    "gateway",
]
MIDDLEWARE = [
    "gateway.process.request_ids.RequestId",
    "gateway.process.request_ids.sound_input",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "tenants.scope.operator_database.OperatorDatabase",
    "allauth.account.middleware.AccountMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [environment.ROOT / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "gateway.http.drf.ApiKeyAuthentication",
        "gateway.http.drf.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["gateway.http.drf.HasScope"],
    "DEFAULT_RENDERER_CLASSES": ["gateway.http.rendering.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["gateway.http.drf.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_FILTER_BACKENDS": ["django_filters.rest_framework.DjangoFilterBackend"],
    "DEFAULT_PAGINATION_CLASS": "gateway.rest.framework.pagination.Pages",
    "PAGE_SIZE": 50,
    "EXCEPTION_HANDLER": "gateway.http.drf_errors.handle",
    # `Accept` says what form is wanted, and nothing else does.
    "URL_FORMAT_OVERRIDE": None,
    "UNAUTHENTICATED_USER": None,
}

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "font-src": ["'self'"],
        "connect-src": ["'self'"],
        "form-action": ["'self'"],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
    }
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": "gateway.process.logs.formatter"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": "INFO"},
    "loggers": {
        **{
            name: {"level": "WARNING"}
            for name in ("celery", "httpx", "httpx2", "openai", "anthropic", "google_genai", "aiohttp", "mcp")
        },
        "django.request": {"level": "ERROR"},
        # The server's own handlers would write lines in another format.
        **{name: {"handlers": [], "propagate": True, "level": "WARNING"} for name in ("uvicorn", "uvicorn.access")},
    },
}
