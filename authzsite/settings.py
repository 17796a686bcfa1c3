"""Every setting of the site, in sections. Each knob is read through `authzsite.env`, which refuses nonsense."""

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


# Who may reach the site, and how


def is_loopback(host: str) -> bool:
    """Whether only programs on this machine can reach the address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def load_or_create_secret_key(path: Path) -> str:
    """The key of an installation that names none: made once, readable by its owner only."""
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
# The trial on one machine speaks plain HTTP; everywhere else cookies travel over TLS only.
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
    "security.W005",  # whether neighbouring host names may speak plain HTTP is not ours to decide
    "security.W008",  # the proxy that ends TLS redirects; health checks behind it speak plain HTTP
    "security.W021",  # a place in the browsers' preload list is the owner of the domain's to ask for
]
# The largest body of any path, in bytes: a batch of proposals, and a file of policies.
DATA_UPLOAD_MAX_MEMORY_SIZE = 16 * 1024 * 1024
# How large a body may be, in bytes, by the beginning of its path; the first that fits counts. Each is what the honest
# use of the path needs, since what is sent is read whole before anything of it can be refused (docs/operations.md).
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
    # The forms of the pages: a policy in the builder, a list of people, the text of the assertions.
    "/": 2 * 1024 * 1024,
}
# How many calls in a minute one token and one address may make to the doors for programs, and how many attempts to sign
# in one address may make; 0 sets no limit. authzsite.throttling says how they are counted.
CALLS_PER_TOKEN = env.integer("CALLS_PER_TOKEN", default=120_000)
CALLS_PER_ADDRESS = env.integer("CALLS_PER_ADDRESS", default=240_000)
SIGN_INS_PER_ADDRESS = env.integer("SIGN_INS_PER_ADDRESS", default=60)
# After how many wrong passwords in a row for one name from one address that name waits there, and how long; 0: never.
LOCKOUT_AFTER = env.integer("LOCKOUT_AFTER", default=10)
LOCKOUT_MINUTES = env.integer("LOCKOUT_MINUTES", default=15, minimum=1)
# How many proxies in front add to X-Forwarded-For who called them.
PROXIES = env.integer("PROXIES", default=0)


# What runs

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
    # The last: it takes the place of what a view answers to somebody who is locked out.
    "axes.middleware.AxesMiddleware",
]
# Paths are spelt as DataHub's users type them, without a slash at the end.
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


# Where things are kept

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
REDIS_URL = env.address("REDIS_URL", schemes=("redis", "rediss"))
DATABASES = {"default": env.database("DATABASE_URL", default=VAR_DIR / "db.sqlite3")}
DATABASE_POOL_SIZE = env.integer("DATABASE_POOL_SIZE", default=16, minimum=1)
# Connections that a web process keeps for its own threads and for health checks.
OWN_CONNECTIONS = 4
# How long a new connection may take, in seconds.
DATABASE_CONNECT_SECONDS = 2
DATABASE_OPTIONS: dict[str, Any] = (
    {
        # WAL lets readers go on beside the one writer; IMMEDIATE makes a writer wait its turn when it starts, where
        # waiting helps, instead of failing when its first read turns into a write.
        "init_command": "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 20000",
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
    }
    if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3"
    else {
        # While the server is away a request waits for as long as the pool has it wait (or its budget, where that is
        # less), and when it is back, for as long as the pool goes on with one attempt to connect before it begins
        # another at once.
        "pool": {"min_size": 1, "max_size": DATABASE_POOL_SIZE, "timeout": 3, "reconnect_timeout": 1},
        "connect_timeout": DATABASE_CONNECT_SECONDS,
        # A machine that is gone is noticed after about half a minute, also by what has no deadline (milliseconds).
        "tcp_user_timeout": 30_000,
        "keepalives": 1,
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 4,
        # PostgreSQL compiles what it thinks is dear: that takes seconds, and running any of our statements does not.
        "options": f"{DATABASES['default'].get('OPTIONS', {}).get('options', '')} -c jit=off".strip(),
    }
)
if DATABASES["default"]["ENGINE"] == "django.db.backends.postgresql":
    # Django's own, with a deadline for every wait.
    DATABASES["default"]["ENGINE"] = "authzsite.postgresql"
# How long one statement of a web process may take; clients wait for half a minute. 0: as long as it takes.
STATEMENT_SECONDS = env.integer("STATEMENT_SECONDS", default=30)
# How long one statement of a worker or a command may take. 0: as long as it takes.
TASK_STATEMENT_SECONDS = env.integer("TASK_STATEMENT_SECONDS", default=3600)
# How long one request may wait, for its turn, the database and other requests together: where a decision is asked for,
# and elsewhere.
DECISION_SECONDS = env.integer("DECISION_SECONDS", default=2, minimum=1)
REQUEST_SECONDS = env.integer("REQUEST_SECONDS", default=60, minimum=1)
# How many requests a web process works at once, and how many more wait for their turn.
REQUESTS_AT_ONCE = env.integer("REQUESTS_AT_ONCE", default=max(DATABASE_POOL_SIZE - OWN_CONNECTIONS, 1), minimum=1)
REQUESTS_WAITING = env.integer("REQUESTS_WAITING", default=200)
# A connection of the pool that the server gave up is replaced before a request meets it.
DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
DATABASES["default"]["OPTIONS"] = {**DATABASES["default"].get("OPTIONS", {}), **DATABASE_OPTIONS}
# Nothing waits longer for a Redis that takes connections and says nothing; without it answers are the same.
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


# People

AUTH_USER_MODEL = "policies.User"
# Where the session of somebody who has just proved who it is says it came from.
PASSWORD_BACKEND = "django.contrib.auth.backends.ModelBackend"  # noqa: S105  # a name of a class
AUTHENTICATION_BACKENDS = [
    # The first, which lets nobody in and turns away who is locked out.
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
# Both together: nobody can lock somebody out who is elsewhere.
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_RESET_ON_SUCCESS = True
AXES_LOCKOUT_CALLABLE = "authzsite.login_lockout.respond_locked_out"
AXES_USERNAME_CALLABLE = "authzsite.login_lockout.get_attempted_username"
AXES_CLIENT_IP_CALLABLE = "authzsite.throttling.get_client_address"
# Who signed in is not kept, and no admin page shows who tried to.
AXES_DISABLE_ACCESS_LOG = True
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False
LOGIN_URL = "/login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/login"
# guardian would make a user row of its own for people who did not sign in; nobody here acts without a name.
ANONYMOUS_USER_NAME = None
DEFAULT_ROOT_PASSWORD = "datahub"  # noqa: S105  # the documented one, which check --deploy refuses
AUTHZ_ROOT_PASSWORD = env.text("AUTHZ_ROOT_PASSWORD", DEFAULT_ROOT_PASSWORD)
# Signing in through a provider of identities, if the environment names one.
OIDC = oidc_settings.load_provider()
SOCIALACCOUNT_ADAPTER = "policies.identity.pages.oidc_views.SocialAccountAdapter"


# Access: the switches keep the names of their sources, and the doors pass their values to the engine

AUTH_POLICIES_ENABLED = env.flag("AUTH_POLICIES_ENABLED", default=True)
# Whether `manage.py bootstrap` leaves all users two platform privileges. Only a trial that nobody else can reach begins
# with the policy of DataHub's guide, which gives them every one.
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
# User names, or URNs of users, groups and roles; the root user where none is named.
CDAP_INSTANCE_ADMINS = env.names("CDAP_INSTANCE_ADMINS")
if invalid_admins := [
    name
    for name in CDAP_INSTANCE_ADMINS
    if name.startswith("urn:") and not name.startswith(("urn:li:corpuser:", "urn:li:corpGroup:", "urn:li:dataHubRole:"))
]:
    raise ImproperlyConfigured(f"CDAP_INSTANCE_ADMINS names {invalid_admins[0]!r}, which is no user, group or role.")
# What words of policy enforcement points mean (catalog.protocols.authzen).
AUTHZEN_SUBJECT_TYPES = env.pairs("AUTHZEN_SUBJECT_TYPES", default={"user": "corpuser", "identity": "corpuser"})
AUTHZEN_RESOURCE_TYPES = env.pairs("AUTHZEN_RESOURCE_TYPES", default={})
AUTHZEN_ACTIONS = env.pairs("AUTHZEN_ACTIONS", default={})
# Privileges of one's own, which DataHub policies may give beside those of the registry.
CUSTOM_PRIVILEGES = env.names("CUSTOM_PRIVILEGES")
# Under which address clients reach the site; where it is absent, the one they call.
PUBLIC_URL = env.origin("PUBLIC_URL")
# Refusals are always logged; of what is allowed, this share.
DECISION_LOG_SAMPLE = env.fraction("DECISION_LOG_SAMPLE", default=0.01)
DECISION_LOG_DAYS = env.integer("DECISION_LOG_DAYS", default=30, minimum=1)
# For how many days the record of changes is kept, and the history of policies; 0 keeps everything.
CHANGE_LOG_DAYS = env.integer("CHANGE_LOG_DAYS", default=0)
POLICY_HISTORY_DAYS = env.integer("POLICY_HISTORY_DAYS", default=0)
# How many replaced versions of each aspect are kept beside the one in force; 0 keeps all.
ASPECT_VERSIONS_KEPT = env.integer("ASPECT_VERSIONS_KEPT", default=0)
INHERIT_PRIVILEGES = env.flag("INHERIT_PRIVILEGES", default=False)
POLICY_PORTS = {
    "FacetSource": "catalog.access.facet_source.OrmFacetSource",
    "GrantSource": "catalog.access.grant_source.OrmGrantSource",
    "Directory": "catalog.access.directory.OrmDirectory",
}
# What else an installation starts with: functions called with `by` at the end of `manage.py bootstrap`.
BOOTSTRAP_HOOKS: tuple[str, ...] = (
    "catalog.entities.bootstrap.write_ownership_types",
    "catalog.entities.bootstrap.register_cdap_instance",
)
# What else is to be done when a user, group or role cannot act any more: functions called with `urn` and `uow` (the
# unit of work) that return a context manager, entered before that is written and left before the change is stored.
DEPARTURE_HOOKS: tuple[str, ...] = ("catalog.cdap.grant_services.reassign_sole_grants",)


# The API

# How much a process keeps of what it looked up, so that it need not ask again until it changes; about a kilobyte each.
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
    # The list of values would be repeated as Markdown; the schema names them already.
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


# Work in the background

CELERY_BROKER_URL = REDIS_URL or "filesystem://localhost"
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = (
    {"socket_connect_timeout": 2, "socket_timeout": 2} if REDIS_URL else {}
)
# A task that cannot be handed over is said in the log, and its work is repeated by the schedule; no write waits for it.
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
        # A worker that sleeps longer between looks into the folder would not end in time when it is told to.
        "polling_interval": 0.5,
    }
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
# How long the worker's clock may sleep, and so how long its end may take.
CELERY_WORKER_TIMER_PRECISION = 0.25
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BEAT_SCHEDULE_FILENAME = str(VAR_DIR / "beat-schedule")
CELERY_TIMEZONE = TIME_ZONE


FORGET_EVERY_SECONDS = 3600
# Beat repeats what no lost message may undo.
CELERY_BEAT_SCHEDULE: dict[str, dict[str, Any]] = {
    "refresh-policy-cache": {
        "task": "policies.refresh_policy_cache",
        "schedule": POLICY_CACHE_REFRESH_INTERVAL_SECONDS,
        # A worker that was away finds one waiting refresh, not a heap of them.
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


# Reports: the folder has to be one that every executor of SPARK_MASTER sees
REPORTS_DIR = Path(env.text("REPORTS_DIR", str(VAR_DIR / "reports"))).resolve()
REPORTS_KEPT = env.integer("REPORTS_KEPT", default=60, minimum=1)
# Each that runs is a Java program that takes every core it finds.
REPORTS_AT_ONCE = env.integer("REPORTS_AT_ONCE", default=1, minimum=1)
REPORT_MINUTES = env.integer("REPORT_MINUTES", default=120, minimum=1)
# How long the worker that makes a report may give no sign of life before another one makes it.
REPORT_LEASE_SECONDS = env.integer("REPORT_LEASE_SECONDS", default=30, minimum=1)
WATCH_REPORTS_EVERY_SECONDS = max(REPORT_LEASE_SECONDS / 3, 1.0)
REPORTS_NIGHTLY_HOUR = env.integer("REPORTS_NIGHTLY_HOUR", default=2)
SPARK_MASTER = env.text("SPARK_MASTER")
# The program spark-submit, where jobs have to be started by it, and what else it is given.
SPARK_SUBMIT = env.text("SPARK_SUBMIT")
SPARK_SUBMIT_ARGUMENTS = shlex.split(env.text("SPARK_SUBMIT_ARGUMENTS"))
# Exports of grants that the role mapping check reads: a folder, or a URL that Spark reads.
GRANTS_EXPORTS = env.text("GRANTS_EXPORTS")
# The file that holds the assertions about access; without one they are written on their page.
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


# Logs

DJANGO_STRUCTLOG_CELERY_ENABLED = True
# Naming the user in every line would read the session, and with it the database, in requests that need neither.
DJANGO_STRUCTLOG_USER_ID_FIELD = None
LOGGING = logs.build_configuration(
    level=env.choice("LOG_LEVEL", default="INFO", choices=("DEBUG", "INFO", "WARNING", "ERROR")),
    style=env.choice("LOG_FORMAT", default="console", choices=("console", "json")),
)
LOGGING_CONFIG = "authzsite.logs.configure"


# Numbers about the work: who may scrape them, and where the web processes of one machine put them together

METRICS_TOKEN = env.text("METRICS_TOKEN")
METRICS_DIR = env.ensure_folder("METRICS_DIR", default=VAR_DIR / "metrics")
