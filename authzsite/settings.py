"""Settings of the site, by section. Each environment variable is read through `authzsite.env`, which validates it."""

import shlex
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from celery.schedules import crontab
from django.core.exceptions import ImproperlyConfigured
from django.core.management.utils import get_random_secret_key

from authzsite import env, logs, oidc_settings

BASE_DIR = Path(__file__).resolve().parent.parent
env.read_file(BASE_DIR / ".env")
VAR_DIR = env.ensure_folder("VAR_DIR", default=BASE_DIR / "var")


# Network and HTTP


def is_loopback(host: str) -> bool:
    """Whether the address can be reached only from this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def load_or_create_secret_key(path: Path) -> str:
    """Return the secret key of an installation without SECRET_KEY: created once, readable by its owner only."""
    if not path.exists():
        path.touch(mode=0o600)
        path.write_text(get_random_secret_key(), encoding="utf-8")
    return path.read_text(encoding="utf-8")


DEBUG = env.flag("DEBUG", default=False)
SECRET_KEY_IS_GIVEN = env.is_set("SECRET_KEY")
SECRET_KEY = env.text("SECRET_KEY") or load_or_create_secret_key(VAR_DIR / "secret_key")
SECRET_KEY_FALLBACKS = env.names("SECRET_KEY_FALLBACKS")
# granian reads the same variable, so this is the address that the web process listens on.
BIND_ADDRESS = env.text("GRANIAN_HOST", "127.0.0.1")
ALLOWED_HOSTS = env.names("ALLOWED_HOSTS", default=("localhost", "127.0.0.1", "[::1]"))
CSRF_TRUSTED_ORIGINS = env.origins("CSRF_TRUSTED_ORIGINS")
# A trial on one machine uses plain HTTP; everywhere else cookies require TLS.
PLAIN_HTTP = env.flag("PLAIN_HTTP", default=False)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = LANGUAGE_COOKIE_SECURE = not PLAIN_HTTP
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_AGE = env.integer("SESSION_HOURS", default=12, minimum=1) * 3600
SECURE_HSTS_SECONDS = 0 if PLAIN_HTTP else env.integer("HSTS_SECONDS", default=31_536_000)
SECURE_PROXY_SSL_HEADER = (
    ("HTTP_X_FORWARDED_PROTO", "https") if env.flag("TRUST_FORWARDED_PROTO", default=False) else None
)
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "object-src 'none'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "form-action 'self'",
    )
)
SILENCED_SYSTEM_CHECKS = [
    "security.W005",  # whether neighbouring host names may use plain HTTP is not ours to decide
    "security.W008",  # the proxy that ends TLS redirects; health checks behind it use plain HTTP
    "security.W021",  # only the owner of the domain can apply for the preload list of browsers
]
# The largest body of any path, in bytes: a batch of proposals, or a file of policies.
DATA_UPLOAD_MAX_MEMORY_SIZE = 16 * 1024 * 1024
# Longest body in bytes, by path prefix; the first that matches counts. Each is what legitimate use of the path needs,
# since a body is read completely before any of it can be refused (docs/operations.md).
BODY_LIMIT = 64 * 1024
BODY_LIMITS: dict[str, int] = {
    **dict.fromkeys(("/login", "/logIn", "/logout", "/reset", "/signup", "/signUp", "/auth/signUp"), BODY_LIMIT),
    "/api/v1/authorize/batch": 4 * 1024 * 1024,
    "/api/v1/authorize": BODY_LIMIT,
    "/api/v1/policies/": 2 * 1024 * 1024,
    "/api/v1/entities/": 4 * 1024 * 1024,
    **dict.fromkeys(("/api/v1/reports/", "/api/v1/external-roles/", "/api/v1/groups/"), 2 * 1024 * 1024),
    **dict.fromkeys(("/api/v1/roles/", "/api/v1/grants", "/api/v1/render"), 1024 * 1024),
    "/api/v1/": BODY_LIMIT,
    **dict.fromkeys(("/api/graphql", "/api/v2/graphql"), 1024 * 1024),
    "/access/": 1024 * 1024,
    "/scim/v2/Groups": 4 * 1024 * 1024,
    "/scim/": 256 * 1024,
    **dict.fromkeys(("/aspects", "/entities", "/openapi/v3/entity"), DATA_UPLOAD_MAX_MEMORY_SIZE),
    **dict.fromkeys(("/openapi/", "/runs"), BODY_LIMIT),
    "/settings/permissions/policies/import": DATA_UPLOAD_MAX_MEMORY_SIZE,
    # Forms of the pages: a policy in the builder, a list of people, the text of assertions.
    "/": 2 * 1024 * 1024,
}
# Calls per minute of one token and of one address to interfaces for programs, and sign-in attempts per minute of one
# address; 0 sets no limit. authzsite.throttling describes the counting.
CALLS_PER_TOKEN = env.integer("CALLS_PER_TOKEN", default=120_000)
CALLS_PER_ADDRESS = env.integer("CALLS_PER_ADDRESS", default=240_000)
SIGN_INS_PER_ADDRESS = env.integer("SIGN_INS_PER_ADDRESS", default=60)
# Wrong passwords in a row for one name from one address before its lockout there (0: never), and minutes of lockout.
LOCKOUT_AFTER = env.integer("LOCKOUT_AFTER", default=10)
LOCKOUT_MINUTES = env.integer("LOCKOUT_MINUTES", default=15, minimum=1)
# Number of proxies in front that append their caller to X-Forwarded-For.
PROXIES = env.integer("PROXIES", default=0)


# Applications, middleware and templates

ROOT_URLCONF = "authzsite.urls"
WSGI_APPLICATION = "authzsite.wsgi.application"
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "rest_framework",
    "guardian",
    "drf_spectacular",
    "django_htmx",
    "django_structlog",
    "axes",
    "allauth",
    "allauth.account",
    "allauth.socialaccount",
    "authzsite",
    "policies",
    "catalog",
]
MIDDLEWARE = [
    "authzsite.middleware.count_responses",
    "authzsite.middleware.set_request_id",
    "django.middleware.security.SecurityMiddleware",
    "authzsite.middleware.set_security_headers",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "authzsite.middleware.limit_body",
    "authzsite.throttling.rate_limit_middleware",
    "authzsite.admission.admit",
    "authzsite.middleware.RequestLogMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "policies.http.guard.viewer_context_middleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "policies.http.pages.error_pages.RefusalPages",
    # The last: it replaces the response of a view to a caller who is locked out.
    "axes.middleware.AxesMiddleware",
]
# Paths are spelt as in DataHub, without a slash at the end.
APPEND_SLASH = False
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "policies.http.pages.layout_context.build_context",
            ],
            "libraries": {"drawings": "policies.http.pages.icons"},
        },
    }
]
LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True


# Storage

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
REDIS_URL = env.address("REDIS_URL", schemes=("redis", "rediss"))
DATABASES = {"default": env.database("DATABASE_URL", default=VAR_DIR / "db.sqlite3")}
DATABASE_POOL_SIZE = env.integer("DATABASE_POOL_SIZE", default=16, minimum=1)
# Connections of the pool reserved for the process's own threads and for health checks.
OWN_CONNECTIONS = 4
# Seconds that a new connection may take.
DATABASE_CONNECT_SECONDS = 2
DATABASE_OPTIONS: dict[str, Any] = (
    {
        # WAL lets readers continue beside the one writer; IMMEDIATE makes a writer wait at its start, where waiting
        # helps, instead of failing when its first read becomes a write.
        "init_command": "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 20000",
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
    }
    if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3"
    else {
        # While the server is away a request waits for the pool's timeout (or its budget, if that is less). When the
        # server returns, it waits until the pool gives up its current attempt to connect (reconnect_timeout), after
        # which it starts another at once.
        "pool": {"min_size": 1, "max_size": DATABASE_POOL_SIZE, "timeout": 3, "reconnect_timeout": 1},
        "connect_timeout": DATABASE_CONNECT_SECONDS,
        # A machine that is gone is detected after about half a minute, also without a deadline (milliseconds).
        "tcp_user_timeout": 30_000,
        "keepalives": 1,
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 4,
        # Compilation of statements that PostgreSQL considers expensive takes seconds; running any of ours does not.
        "options": f"{DATABASES['default'].get('OPTIONS', {}).get('options', '')} -c jit=off".strip(),
    }
)
if DATABASES["default"]["ENGINE"] == "django.db.backends.postgresql":
    # Django's backend with a deadline for every wait.
    DATABASES["default"]["ENGINE"] = "authzsite.postgresql"
# Seconds for one statement of a web process; clients wait for half a minute. 0: no limit.
STATEMENT_SECONDS = env.integer("STATEMENT_SECONDS", default=30)
# Seconds for one statement of a worker or a command. 0: no limit.
TASK_STATEMENT_SECONDS = env.integer("TASK_STATEMENT_SECONDS", default=3600)
# Seconds for which one request may wait, for its slot, the database and locks together: for decisions, and for others.
DECISION_SECONDS = env.integer("DECISION_SECONDS", default=2, minimum=1)
REQUEST_SECONDS = env.integer("REQUEST_SECONDS", default=60, minimum=1)
# Requests that a web process runs at once, and requests that wait for a slot.
REQUESTS_AT_ONCE = env.integer("REQUESTS_AT_ONCE", default=max(DATABASE_POOL_SIZE - OWN_CONNECTIONS, 1), minimum=1)
REQUESTS_WAITING = env.integer("REQUESTS_WAITING", default=200)
# A broken connection of the pool is replaced before a request uses it.
DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
DATABASES["default"]["OPTIONS"] = {**DATABASES["default"].get("OPTIONS", {}), **DATABASE_OPTIONS}
# Seconds to wait for a Redis that accepts connections and does not respond; without it answers are the same.
REDIS_PATIENCE = {"socket_connect_timeout": 1, "socket_timeout": 1}
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "authzsite",
        "OPTIONS": REDIS_PATIENCE,
    }
    if REDIS_URL
    else {"BACKEND": "django.core.cache.backends.db.DatabaseCache", "LOCATION": "cache"}
}
STATIC_URL = "static/"
STATIC_ROOT = VAR_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}


# Users and sign-in

AUTH_USER_MODEL = "policies.User"
# The backend recorded in sessions that our own sign-in starts.
PASSWORD_BACKEND = "django.contrib.auth.backends.ModelBackend"  # noqa: S105  # a name of a class
AUTHENTICATION_BACKENDS = [
    # The first: it authenticates nobody and refuses callers who are locked out.
    "axes.backends.AxesStandaloneBackend",
    PASSWORD_BACKEND,
    "guardian.backends.ObjectPermissionBackend",
]
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
AXES_ENABLED = LOCKOUT_AFTER > 0
AXES_FAILURE_LIMIT = LOCKOUT_AFTER
AXES_COOLOFF_TIME = timedelta(minutes=LOCKOUT_MINUTES)
# Name and address together, so that nobody can lock out a user at another address.
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_RESET_ON_SUCCESS = True
AXES_LOCKOUT_CALLABLE = "authzsite.login_lockout.respond_locked_out"
AXES_USERNAME_CALLABLE = "authzsite.login_lockout.get_attempted_username"
AXES_CLIENT_IP_CALLABLE = "authzsite.throttling.get_client_address"
# Successful sign-ins are not stored, and no admin page shows attempts.
AXES_DISABLE_ACCESS_LOG = True
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False
LOGIN_URL = "/login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/login"
# guardian would create a user row for anonymous callers; no caller acts without an account here.
ANONYMOUS_USER_NAME = None
DEFAULT_ROOT_PASSWORD = "datahub"  # noqa: S105  # the documented one, which check --deploy refuses
AUTHZ_ROOT_PASSWORD = env.text("AUTHZ_ROOT_PASSWORD", DEFAULT_ROOT_PASSWORD)
# Sign-in through an OpenID Connect provider, if the environment names one.
OIDC = oidc_settings.load_provider()
SOCIALACCOUNT_ADAPTER = "policies.identity.pages.oidc_views.SocialAccountAdapter"


# Access: the switches keep the names of their sources

AUTH_POLICIES_ENABLED = env.flag("AUTH_POLICIES_ENABLED", default=True)
# Whether `manage.py bootstrap` leaves all users two platform privileges. Only a trial that cannot be reached from other
# machines starts with the policy of DataHub's guide, which gives them all.
IS_TRIAL = DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3" and all(
    is_loopback(host.strip("[]")) for host in (BIND_ADDRESS, *ALLOWED_HOSTS)
)
BOOTSTRAP_RESTRICTED = env.flag("BOOTSTRAP_RESTRICTED", default=not IS_TRIAL)
BOUNDED_DELEGATION = env.flag("BOUNDED_DELEGATION", default=True)
REST_API_AUTHORIZATION = env.combined_flag(("REST_API_AUTHORIZATION", "REST_API_AUTHORIZATION_ENABLED"), default=True)
VIEW_AUTHORIZATION_ENABLED = env.flag("VIEW_AUTHORIZATION_ENABLED", default=False)
METADATA_SERVICE_AUTH_ENABLED = env.flag("METADATA_SERVICE_AUTH_ENABLED", default=True)
if not METADATA_SERVICE_AUTH_ENABLED and not is_loopback(BIND_ADDRESS):
    raise ImproperlyConfigured(
        "METADATA_SERVICE_AUTH_ENABLED may be false only where GRANIAN_HOST is a loopback address, "
        "since every caller without a token would act as the root user."
    )
MCP_VALIDATION_PRIVILEGE_CONSTRAINTS = env.flag("MCP_VALIDATION_PRIVILEGE_CONSTRAINTS", default=True)
SHOW_ACCESS_MANAGEMENT = env.flag("SHOW_ACCESS_MANAGEMENT", default=False)
POLICY_CACHE_REFRESH_INTERVAL_SECONDS = env.integer("POLICY_CACHE_REFRESH_INTERVAL_SECONDS", default=120, minimum=1)
# User names, or URNs of users, groups and roles; empty: the root user.
CDAP_INSTANCE_ADMINS = env.names("CDAP_INSTANCE_ADMINS")
if invalid_admins := [
    name
    for name in CDAP_INSTANCE_ADMINS
    if name.startswith("urn:") and not name.startswith(("urn:li:corpuser:", "urn:li:corpGroup:", "urn:li:dataHubRole:"))
]:
    raise ImproperlyConfigured(f"CDAP_INSTANCE_ADMINS names {invalid_admins[0]!r}, which is no user, group or role.")
# Meaning of the terms of policy enforcement points (catalog.protocols.authzen).
AUTHZEN_SUBJECT_TYPES = env.pairs("AUTHZEN_SUBJECT_TYPES", default={"user": "corpuser", "identity": "corpuser"})
AUTHZEN_RESOURCE_TYPES = env.pairs("AUTHZEN_RESOURCE_TYPES", default={})
AUTHZEN_ACTIONS = env.pairs("AUTHZEN_ACTIONS", default={})
# Custom privileges, which DataHub policies may give beside those of the registry.
CUSTOM_PRIVILEGES = env.names("CUSTOM_PRIVILEGES")
# Origin under which clients reach the site; absent: that of the request.
PUBLIC_URL = env.origin("PUBLIC_URL")
# Denials are always logged; of allowed decisions, this share.
DECISION_LOG_SAMPLE = env.fraction("DECISION_LOG_SAMPLE", default=0.01)
DECISION_LOG_DAYS = env.integer("DECISION_LOG_DAYS", default=30, minimum=1)
# Days for which the change log and the history of policies are kept; 0 keeps everything.
CHANGE_LOG_DAYS = env.integer("CHANGE_LOG_DAYS", default=0)
POLICY_HISTORY_DAYS = env.integer("POLICY_HISTORY_DAYS", default=0)
# Replaced versions of each aspect that are kept beside the current one; 0 keeps all.
ASPECT_VERSIONS_KEPT = env.integer("ASPECT_VERSIONS_KEPT", default=0)
INHERIT_PRIVILEGES = env.flag("INHERIT_PRIVILEGES", default=False)
POLICY_PORTS = {
    "FacetSource": "catalog.access.facet_source.OrmFacetSource",
    "GrantSource": "catalog.access.grant_source.OrmGrantSource",
    "Directory": "catalog.access.directory.OrmDirectory",
}
# Further initial data: functions called with `by` at the end of `manage.py bootstrap`.
BOOTSTRAP_HOOKS: tuple[str, ...] = (
    "catalog.entities.bootstrap.write_ownership_types",
    "catalog.entities.bootstrap.register_cdap_instance",
)
# Further work when a user, group or role is deactivated: functions called with `urn` and `uow` (the unit of work) that
# return a context manager, entered before the deactivation is written and left before the change is stored.
DEPARTURE_HOOKS: tuple[str, ...] = ("catalog.cdap.grant_services.reassign_sole_grants",)


# The API

# Entries of the fact cache of a process (tokens, actors, entities), dropped when they change; about a kilobyte each.
TOKENS_KEPT = env.integer("TOKENS_KEPT", default=10_000, minimum=1)
ACTORS_KEPT = env.integer("ACTORS_KEPT", default=20_000, minimum=1)
ENTITIES_KEPT = env.integer("ENTITIES_KEPT", default=50_000, minimum=1)

REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "policies.identity.api.token_authentication.TokenAuthentication",
        "policies.identity.api.token_authentication.PageSession",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["policies.http.guard.IsGuarded"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["policies.http.api.parsers.StrictJsonParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_METADATA_CLASS": None,
    "EXCEPTION_HANDLER": "policies.http.api.problem_details.handle_exception",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "authzsite",
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "SERVE_INCLUDE_SCHEMA": False,
    # The list of values would be repeated as Markdown; the schema has it already.
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "DESCRIPTION": "Who may do what to which dataset: questions, policies, people and the catalog.",
    "ENUM_NAME_OVERRIDES": {
        "DecisionWord": "policies.decisions.api.decision_serializers.OUTCOMES",
        "PolicyState": "policies.models.policy.Policy.State",
        "PolicyStateChange": "policies.authoring.api.policies.STATES",
        "PolicyType": "policies.models.policy.Policy.Type",
        "UserState": "policies.models.people.User.State",
        "TokenDuration": "policies.identity.api.access_tokens.DURATION_CHOICES",
        "InviteDuration": "policies.identity.api.invitations.LIFETIME_CHOICES",
        "FindingState": "catalog.models.finding.Finding.State",
        "ReportStatus": "catalog.models.report.Report.Status",
    },
    "PREPROCESSING_HOOKS": ["policies.http.api.openapi_schema.filter_endpoints"],
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "policies.http.api.openapi_schema.set_servers",
    ],
}


# Background tasks

CELERY_BROKER_URL = REDIS_URL or "filesystem://localhost"
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = (
    {"socket_connect_timeout": 2, "socket_timeout": 2} if REDIS_URL else {}
)
# A task that cannot be queued is logged, and its work is repeated by the schedule; no write waits for it.
CELERY_TASK_PUBLISH_RETRY = False
if not REDIS_URL:
    QUEUE_DIR = VAR_DIR / "broker" / "queue"
    CONTROL_DIR = VAR_DIR / "broker" / "control"
    QUEUE_DIR.mkdir(parents=True, exist_ok=True)
    CONTROL_DIR.mkdir(parents=True, exist_ok=True)
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": str(QUEUE_DIR),
        "data_folder_out": str(QUEUE_DIR),
        "control_folder": str(CONTROL_DIR),
        # A worker that sleeps longer between polls of the folder would not end in time when it is stopped.
        "polling_interval": 0.5,
    }
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
# Seconds for which the worker's timer may sleep, and so the delay of its end.
CELERY_WORKER_TIMER_PRECISION = 0.25
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BEAT_SCHEDULE_FILENAME = str(VAR_DIR / "beat-schedule")
CELERY_TIMEZONE = TIME_ZONE


FORGET_EVERY_SECONDS = 3600
# The schedule repeats the work of messages that may be lost.
CELERY_BEAT_SCHEDULE: dict[str, dict[str, Any]] = {
    "refresh-policy-cache": {
        "task": "policies.refresh_policy_cache",
        "schedule": POLICY_CACHE_REFRESH_INTERVAL_SECONDS,
        # A worker that was away finds one queued refresh, not many.
        "options": {"expires": POLICY_CACHE_REFRESH_INTERVAL_SECONDS},
    },
    **{
        name: {"task": task, "schedule": FORGET_EVERY_SECONDS, "options": {"expires": FORGET_EVERY_SECONDS}}
        for name, task in (
            ("forget-decisions", "policies.forget_decisions"),
            ("forget-sessions", "policies.forget_sessions"),
            ("forget-changes", "policies.forget_changes"),
            ("forget-aspect-versions", "catalog.forget_aspect_versions"),
        )
    },
}


# Reports: every executor of SPARK_MASTER must see the folder
REPORTS_DIR = Path(env.text("REPORTS_DIR", str(VAR_DIR / "reports"))).resolve()
REPORTS_KEPT = env.integer("REPORTS_KEPT", default=60, minimum=1)
# Each running report is a Java program that uses every core.
REPORTS_AT_ONCE = env.integer("REPORTS_AT_ONCE", default=1, minimum=1)
REPORT_MINUTES = env.integer("REPORT_MINUTES", default=120, minimum=1)
# Seconds without a heartbeat after which another worker takes over a report.
REPORT_LEASE_SECONDS = env.integer("REPORT_LEASE_SECONDS", default=30, minimum=1)
WATCH_REPORTS_EVERY_SECONDS = max(REPORT_LEASE_SECONDS / 3, 1.0)
REPORTS_NIGHTLY_HOUR = env.integer("REPORTS_NIGHTLY_HOUR", default=2)
SPARK_MASTER = env.text("SPARK_MASTER")
# The program spark-submit, if jobs have to be started by it, and its further arguments.
SPARK_SUBMIT = env.text("SPARK_SUBMIT")
SPARK_SUBMIT_ARGUMENTS = shlex.split(env.text("SPARK_SUBMIT_ARGUMENTS"))
# Exports of grants for the role mapping check: a folder, or a URL that Spark reads.
GRANTS_EXPORTS = env.text("GRANTS_EXPORTS")
# The file with the assertions about access; without one they are edited on their page.
ASSERTIONS_FILE = env.text("ASSERTIONS_FILE")
CELERY_BEAT_SCHEDULE |= {
    "watch-reports": {
        "task": "catalog.watch_reports",
        "schedule": WATCH_REPORTS_EVERY_SECONDS,
        "options": {"expires": WATCH_REPORTS_EVERY_SECONDS},
    },
    "reopen-findings": {"task": "catalog.reopen_findings", "schedule": 600, "options": {"expires": 600}},
    "nightly-reports": {
        "task": "catalog.run_nightly_reports",
        "schedule": crontab(hour=REPORTS_NIGHTLY_HOUR % 24, minute=0),
        "options": {"expires": 3600},
    },
}


# Logging

DJANGO_STRUCTLOG_CELERY_ENABLED = True
# Logging the user would read the session, and with it the database, in requests that need neither.
DJANGO_STRUCTLOG_USER_ID_FIELD = None
LOGGING = logs.build_configuration(
    level=env.choice("LOG_LEVEL", default="INFO", choices=("DEBUG", "INFO", "WARNING", "ERROR")),
    style=env.choice("LOG_FORMAT", default="console", choices=("console", "json")),
)
LOGGING_CONFIG = "authzsite.logs.configure"


# Metrics: bearer token of scrapers, and the folder shared by the web processes of one machine

METRICS_TOKEN = env.text("METRICS_TOKEN")
METRICS_DIR = env.ensure_folder("METRICS_DIR", default=VAR_DIR / "metrics")
