"""Django's settings, made from the environment; `docs/reference/settings.md` lists every variable.

What no variable changes is beside it: `fixed`, `beat` (jobs at intervals), `openapi`, `admin_theme`.
"""

import re
from email.utils import parseaddr

from gateway.config import admin_theme, beat, fixed, openapi
from gateway.process import environment as env
from gateway.process import wait_for
from tenants.people.encryption import WrongKey, check_keys
from tenants.scope.logins import LostSecrets, check_secrets, derived_urls, generated_secrets
from tools.interface import Tier

# Every process of ours reads the settings before it waits for anything.
wait_for.mend()
BASE_DIR = env.ROOT
TOOLGATE_ENV = env.text("TOOLGATE_ENV", "development")
if TOOLGATE_ENV not in {"development", "production"}:
    raise env.WrongSetting(f"TOOLGATE_ENV must be development or production, not {TOOLGATE_ENV!r}")
DEVELOPMENT = TOOLGATE_ENV == "development"
DEBUG = False
TOOLGATE_DATA_DIR = env.data_dir()
try:
    check_secrets(TOOLGATE_DATA_DIR)
except LostSecrets as lost:
    raise env.WrongSetting(str(lost)) from None


def _demanded(name: str) -> str:
    value = env.text(name) if not DEVELOPMENT else env.generated(name)
    if not value and not DEVELOPMENT:
        raise env.WrongSetting(f"{name} must be set when TOOLGATE_ENV is production")
    return value


# Which of our processes this is; only the supervisor sets it. Web, worker and beat never hold the owner's login.
TOOLGATE_PROCESS = env.text("TOOLGATE_PROCESS", "command")

SECRET_KEY = _demanded("SECRET_KEY") or generated_secrets(TOOLGATE_DATA_DIR)["secret_key"]
# What tenants' secrets are encrypted with: the first encrypts, all decrypt.
TOOLGATE_ENCRYPTION_KEYS = [key.strip() for key in _demanded("TOOLGATE_ENCRYPTION_KEYS").split(",") if key.strip()]
TOOLGATE_ENCRYPTION_KEYS = TOOLGATE_ENCRYPTION_KEYS or [generated_secrets(TOOLGATE_DATA_DIR)["encryption_key"]]
try:
    check_keys(TOOLGATE_ENCRYPTION_KEYS)
except WrongKey as wrong:
    raise env.WrongSetting(f"TOOLGATE_ENCRYPTION_KEYS: {wrong}; `openssl rand -hex 32` makes one") from None
HOST = env.text("HOST", "127.0.0.1")
# A command beside `make up` writes links to the port that is served.
PORT = env.integer("PORT", 0, most=65535) or int(env.generated("PORT") or 8000)
ALLOWED_HOSTS = env.words("ALLOWED_HOSTS", "*" if DEVELOPMENT else "")
if not ALLOWED_HOSTS:
    raise env.WrongSetting(
        "ALLOWED_HOSTS must name the hosts that Toolgate is reached by when TOOLGATE_ENV is production"
    )
# Where people reach the pages: for links in what is sent to them.
_host = ALLOWED_HOSTS[0].lstrip(".")
_local = f"http://[{HOST}]:{PORT}" if ":" in HOST else f"http://{HOST}:{PORT}"
PUBLIC_URL = (env.text("PUBLIC_URL") or (_local if DEVELOPMENT or _host == "*" else f"https://{_host}")).rstrip("/")
if not re.fullmatch(r"https?://[^\s/?#@]+(/[^\s?#]*)?", PUBLIC_URL):
    raise env.WrongSetting(f"PUBLIC_URL must look like https://toolgate.example.com, not {PUBLIC_URL!r}")
TRUSTED_PROXIES = env.words("TRUSTED_PROXIES")
CORS_ALLOWED_ORIGINS = CSRF_TRUSTED_ORIGINS = env.words("CORS_ALLOWED_ORIGINS")
for _origin in CORS_ALLOWED_ORIGINS:
    if not re.fullmatch(r"https?://[^\s/?#@*A-Z]+", _origin):
        raise env.WrongSetting(f"CORS_ALLOWED_ORIGINS must be like https://app.example.com, not {_origin!r}")

# --- what is installed -----------------------------------------------------------------------------------------------
INSTALLED_APPS = fixed.INSTALLED_APPS
MIDDLEWARE = fixed.MIDDLEWARE
ROOT_URLCONF = "gateway.config.urls"
ASGI_APPLICATION = "gateway.config.asgi.application"
TEMPLATES = fixed.TEMPLATES

# --- PostgreSQL: one login a purpose ---------------------------------------------------------------------------------
_urls = {"default": "DATABASE_URL", "system": "DATABASE_SYSTEM_URL", "operator": "DATABASE_OPERATOR_URL"}
if TOOLGATE_PROCESS == "command":
    _urls["owner"] = "DATABASE_OWNER_URL"
DATABASE_URLS = {alias: _demanded(name) if alias == "default" else env.generated(name) for alias, name in _urls.items()}
if not DATABASE_URLS["default"]:
    raise env.WrongSetting("DATABASE_URL is not set and no `make up` is running; start it, or set DATABASE_URL")
if not DATABASE_URLS["system"] or not DATABASE_URLS["operator"]:
    DATABASE_URLS = derived_urls(DATABASE_URLS, TOOLGATE_DATA_DIR)
DATABASES = {alias: env.database(_urls[alias], url) for alias, url in DATABASE_URLS.items() if url}
for _alias, _database in DATABASES.items():
    _database["OPTIONS"] |= {"application_name": f"toolgate-{TOOLGATE_PROCESS}"}  # type: ignore[operator]

# How many connections a web process has for pages and REST, and how long one is waited for (seconds).
PAGES_POOL_SIZE = env.integer("PAGES_POOL_SIZE", 8, least=1, most=1000)
DATABASE_POOL_SECONDS = env.integer("DATABASE_POOL_SECONDS", 10, least=1, most=60)
# Downloads of the history have connections of their own, on the app's login, and a bound on how many run at a time.
EXPORT_POOL_SIZE = 2
TOOLGATE_EXPORTS = env.integer("TOOLGATE_EXPORTS", 16, least=1, most=1000)
TOOLGATE_EXPORTS_PER_PERSON = env.integer("TOOLGATE_EXPORTS_PER_PERSON", 2, least=1, most=1000)
# Answers and sockets that stay open hold none, but memory, and work whenever something happens.
TOOLGATE_STREAMS = env.integer("TOOLGATE_STREAMS", 4096, least=1, most=60_000)
TOOLGATE_STREAMS_PER_PERSON = env.integer("TOOLGATE_STREAMS_PER_PERSON", 1024, least=1, most=60_000)
DATABASES["export"] = DATABASES["default"] | {"OPTIONS": DATABASES["default"]["OPTIONS"].copy()}  # type: ignore[attr-defined]
if TOOLGATE_PROCESS == "web":
    for _alias, _size in (("default", PAGES_POOL_SIZE), ("operator", PAGES_POOL_SIZE), ("export", EXPORT_POOL_SIZE)):
        _pool = {"min_size": 0, "max_size": _size, "timeout": DATABASE_POOL_SECONDS}
        DATABASES[_alias]["OPTIONS"] |= {"pool": _pool}  # type: ignore[operator]
DATABASE_ROUTERS = ["tenants.scope.routing.RoleRouter"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
# The service code's own asynchronous pool, on the app's login.
DATABASE_POOL_SIZE = env.integer("DATABASE_POOL_SIZE", 20, least=1, most=1000)
# How many of them work at a time, unless they take long.
DATABASE_AT_ONCE = env.integer("DATABASE_AT_ONCE", 4, least=1, most=1000)
# Not behind a pooler that gives each transaction another connection.
DATABASE_PREPARED_STATEMENTS = env.boolean("DATABASE_PREPARED_STATEMENTS", True)

# --- Redis: wake-ups, limits, caches ---------------------------------------------------------------------------------
REDIS_URL = _demanded("REDIS_URL") or "redis://127.0.0.1:6379/0"
if not REDIS_URL.startswith(("redis://", "rediss://")):
    raise env.WrongSetting("REDIS_URL must begin with redis:// or rediss://; Sentinel and Cluster are not supported")
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "toolgate",
        # A Redis that hangs must cost a refusal, not a request.
        "OPTIONS": {"socket_timeout": 1.0, "socket_connect_timeout": 1.0},
    }
}
SILENCED_SYSTEM_CHECKS = ["django_ratelimit.W001"]
SESSION_ENGINE = "django.contrib.sessions.backends.db"

# --- Celery ----------------------------------------------------------------------------------------------------------
WEB_CONCURRENCY = env.integer("WEB_CONCURRENCY", 1, least=1, most=64)
WORKER_CONCURRENCY = env.integer("WORKER_CONCURRENCY", 8, least=1, most=256)
RUN_LEASE_SECONDS = env.integer("RUN_LEASE_SECONDS", 15, least=3, most=3600)
CELERY_BROKER_URL = REDIS_URL
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = False
CELERY_TASK_SERIALIZER = "json"
# So many messages a slot may wait within the worker: its pool goes round the tenants of those that it holds.
CELERY_WORKER_PREFETCH_MULTIPLIER = 128
CELERY_WORKER_POOL = "tools.worker.pool:TaskPool"
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "socket_timeout": 5,
    "socket_connect_timeout": 2,
    # How soon a worker gives up a connection that has fallen silent, and with it what sends lost messages again.
    "health_check_interval": 3,
    "global_keyprefix": "toolgate:",
}

# How many minutes must be between two times of a schedule.
TOOLGATE_SCHEDULE_MINUTES = env.integer("TOOLGATE_SCHEDULE_MINUTES", 5, least=1, most=24 * 60)
# Months of tool calls before this one that are kept; 0 is all.
TOOLGATE_KEEP_MONTHS = env.integer("TOOLGATE_KEEP_MONTHS", 0, most=1200)

# --- the log of the ledger -------------------------------------------------------------------------------------------
# Read when somebody seals, and only then: no other process gets to see the private key.
TOOLGATE_LEDGER_KEY = env.later("TOOLGATE_LEDGER_KEY")
TOOLGATE_CHECKPOINT_FILE = BASE_DIR / (env.text("TOOLGATE_CHECKPOINT_FILE") or TOOLGATE_DATA_DIR / "checkpoints.jsonl")
TOOLGATE_WITNESS_URL = env.text("TOOLGATE_WITNESS_URL")
if TOOLGATE_WITNESS_URL and not re.fullmatch(r"https?://[^\s/]+\S*", TOOLGATE_WITNESS_URL):
    raise env.WrongSetting("TOOLGATE_WITNESS_URL must look like https://witness.example.com/checkpoints")

# --- people ----------------------------------------------------------------------------------------------------------
AUTH_USER_MODEL = "tenants.User"
AUTHENTICATION_BACKENDS = ["tenants.login.authentication.PasswordBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "/accounts/login/"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/accounts/login/"
LOGIN_ATTEMPTS = "10/m"
PASSWORD_RESET_TIMEOUT = 3600
# How long a log-in, or another proof of who one is, is enough for what raises rights.
REAUTHENTICATION_SECONDS = 900
# Codes of a second factor that a user may try; there are a million of them.
SECOND_FACTOR_ATTEMPTS = ("5/m", "20/h")
# Whether operators need one for /admin/; for members their tenant says so.
TOOLGATE_OPERATOR_SECOND_FACTOR = env.boolean("TOOLGATE_OPERATOR_SECOND_FACTOR")
MFA_ADAPTER = "tenants.login.second_factor.factors.Adapter"
# The codes before and after the present one work too: clocks differ.
MFA_TOTP_TOLERANCE = 1

# --- OAuth clients, which act for members at /mcp --------------------------------------------------------------------
OAUTH_RESOURCE = f"{PUBLIC_URL}/mcp"
# Whether strangers may register clients; those with a metadata document, and the operator's, need not.
TOOLGATE_OAUTH_REGISTRATION = env.boolean("TOOLGATE_OAUTH_REGISTRATION")
OAUTH_REGISTRATIONS = "10/h"

# --- providers and tools ---------------------------------------------------------------------------------------------
OPENAI_API_KEY = env.text("OPENAI_API_KEY")
OPENAI_BASE_URL = env.text("OPENAI_BASE_URL")
ANTHROPIC_API_KEY = env.text("ANTHROPIC_API_KEY")
ANTHROPIC_BASE_URL = env.text("ANTHROPIC_BASE_URL")
GEMINI_API_KEY = env.text("GEMINI_API_KEY")
GEMINI_BASE_URL = env.text("GEMINI_BASE_URL")
# What /v1/models lists of each; any other name is passed on as well.
OPENAI_MODELS = env.words("OPENAI_MODELS")
ANTHROPIC_MODELS = env.words("ANTHROPIC_MODELS")
GEMINI_MODELS = env.words("GEMINI_MODELS")
# Patterns of models that take no pictures and no PDFs, beside those that Toolgate knows.
TOOLGATE_TEXT_MODELS = env.words("TOOLGATE_TEXT_MODELS")
# How long a provider may send nothing in the middle of an answer.
PROVIDER_IDLE_SECONDS = env.integer("PROVIDER_IDLE_SECONDS", 30, least=1, most=3600)
# In production the demo model answers nobody who did not ask for it by name.
DEFAULT_MODEL = env.text("DEFAULT_MODEL") or ("offline/demo" if DEVELOPMENT else "")
if DEFAULT_MODEL and "/" not in DEFAULT_MODEL:
    raise env.WrongSetting(f"DEFAULT_MODEL must look like provider/model, not {DEFAULT_MODEL!r}")
# Which model makes vectors of notes and memories, "off" for none, and how alike what is found by them is at the least.
TOOLGATE_EMBEDDINGS = env.text("TOOLGATE_EMBEDDINGS") or ("offline/demo" if DEFAULT_MODEL == "offline/demo" else "off")
if "/" not in TOOLGATE_EMBEDDINGS and TOOLGATE_EMBEDDINGS != "off":
    raise env.WrongSetting(f"TOOLGATE_EMBEDDINGS must look like provider/model, or be off, not {TOOLGATE_EMBEDDINGS!r}")
TOOLGATE_EMBEDDINGS = "" if TOOLGATE_EMBEDDINGS == "off" else TOOLGATE_EMBEDDINGS
TOOLGATE_EMBEDDINGS_LEAST = env.integer("TOOLGATE_EMBEDDINGS_LEAST", 30, most=100) / 100
CELERY_BEAT_SCHEDULE = beat.JOBS | (beat.EMBEDDING if TOOLGATE_EMBEDDINGS else {})
TOOLGATE_ALLOWED_TOOLS = env.words("TOOLGATE_ALLOWED_TOOLS") if env.text("TOOLGATE_ALLOWED_TOOLS") else None
TOOLGATE_TOOL_TIERS = env.pairs("TOOLGATE_TOOL_TIERS", {tier.value for tier in Tier})
# How tools' own settings are read; each tool declares its own, see tools/configuration.py.
TOOLGATE_READ_SETTING = env.text
# What URLs of tenants and models may reach although it is not public.
TOOLGATE_EGRESS_ALLOW = env.hosts_and_networks("TOOLGATE_EGRESS_ALLOW")

# --- e-mail ----------------------------------------------------------------------------------------------------------
EMAIL_HOST = env.text("EMAIL_HOST")
_tls = env.boolean("EMAIL_USE_TLS")
EMAIL_PORT = env.integer("EMAIL_PORT", 587 if _tls else 25, least=1, most=65535)
# Port 465 speaks TLS from its first byte; all others are asked to change to it.
EMAIL_USE_SSL = _tls and EMAIL_PORT == 465
EMAIL_USE_TLS = _tls and not EMAIL_USE_SSL
EMAIL_HOST_USER = env.text("EMAIL_HOST_USER")
EMAIL_HOST_PASSWORD = env.text("EMAIL_HOST_PASSWORD")
EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend" if EMAIL_HOST else "tools.network.mailbox.Mailbox"
EMAIL_FILE_PATH = TOOLGATE_DATA_DIR / "mail"
DEFAULT_FROM_EMAIL = env.text("EMAIL_FROM") or "Toolgate <toolgate@localhost>"
if not all(parseaddr(DEFAULT_FROM_EMAIL)[1].partition("@")) or not DEFAULT_FROM_EMAIL.isprintable():
    raise env.WrongSetting(f"EMAIL_FROM must look like Name <name@example.com>, not {DEFAULT_FROM_EMAIL!r}")

# --- pages and API ---------------------------------------------------------------------------------------------------
LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_TZ = True
STATIC_URL = "/static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = False
APPEND_SLASH = True

# --- bounds on what clients send -------------------------------------------------------------------------------------
# How many levels of runs there may be below a run, and how many runs one may begin.
TOOLGATE_MAX_CHILD_DEPTH = env.integer("TOOLGATE_MAX_CHILD_DEPTH", 3, least=0, most=3)
TOOLGATE_MAX_CHILDREN = env.integer("TOOLGATE_MAX_CHILDREN", 8, least=0, most=8)
# Above it, models find their tools instead of being shown each.
TOOLGATE_MAX_OFFERED_TOOLS = env.integer("TOOLGATE_MAX_OFFERED_TOOLS", 48, least=2, most=1000)
TOOLGATE_MAX_BODY_BYTES = env.integer("TOOLGATE_MAX_BODY_BYTES", 4 * 1024 * 1024, least=64 * 1024, most=2**30)
TOOLGATE_MAX_V1_BODY_BYTES = env.integer("TOOLGATE_MAX_V1_BODY_BYTES", 32 * 1024 * 1024, least=64 * 1024, most=2**30)
# Of one file that is uploaded, of a conversation's files with their versions, and of all files of a tenant.
TOOLGATE_MAX_FILE_BYTES = env.integer("TOOLGATE_MAX_FILE_BYTES", 10 * 1024 * 1024, least=64 * 1024, most=2**28)
TOOLGATE_MAX_CONVERSATION_FILE_BYTES = env.integer(
    "TOOLGATE_MAX_CONVERSATION_FILE_BYTES", 100 * 1024 * 1024, least=64 * 1024, most=2**40
)
TOOLGATE_MAX_TENANT_FILE_BYTES = env.integer(
    "TOOLGATE_MAX_TENANT_FILE_BYTES", 10 * 1024**3, least=64 * 1024, most=2**50
)
TOOLGATE_MAX_HEADER_BYTES = env.integer("TOOLGATE_MAX_HEADER_BYTES", 64 * 1024, least=4096)
TOOLGATE_MAX_HEADERS = env.integer("TOOLGATE_MAX_HEADERS", 100, least=20, most=10_000)
# How long a request's head and its body may take to arrive.
TOOLGATE_HEADER_SECONDS = env.integer("TOOLGATE_HEADER_SECONDS", 15, least=1, most=3600)
TOOLGATE_BODY_SECONDS = env.integer("TOOLGATE_BODY_SECONDS", 30, least=1, most=3600)
# A form that chooses among the operations of an API has a field for each: services.offers.definition.MAX_TOOLS of them.
DATA_UPLOAD_MAX_NUMBER_FIELDS = 1100
# Nothing of a body touches the disk, that of an uploaded file neither.
DATA_UPLOAD_MAX_MEMORY_SIZE = TOOLGATE_MAX_BODY_BYTES
FILE_UPLOAD_MAX_MEMORY_SIZE = max(TOOLGATE_MAX_BODY_BYTES, TOOLGATE_MAX_FILE_BYTES)

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = not DEVELOPMENT
CSRF_FAILURE_VIEW = "gateway.server.proxies.csrf_failure"
# Sent with answers over HTTPS only; 0 sends none.
SECURE_HSTS_SECONDS = env.integer("TOOLGATE_HSTS_SECONDS", 0 if DEVELOPMENT else 31_536_000, most=10 * 31_536_000)
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if TRUSTED_PROXIES else None
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = fixed.CONTENT_SECURITY_POLICY
REST_FRAMEWORK = fixed.REST_FRAMEWORK
SPECTACULAR_SETTINGS = openapi.SPECTACULAR_SETTINGS
LOGGING = fixed.LOGGING
UNFOLD = admin_theme.UNFOLD
