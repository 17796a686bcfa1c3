"""Network and HTTP: keys, hosts, cookies, headers, and limits of bodies and calls."""

import fcntl
import os
from pathlib import Path

from django.core.management.utils import get_random_secret_key

from authzsite import env
from authzsite.settings.paths import VAR_DIR


def load_or_create_secret_key(path: Path) -> str:
    """Return the secret key of an installation without SECRET_KEY: created once, readable by its owner only."""
    if path.exists() and (key := path.read_text(encoding="utf-8")):
        return key
    # Processes that start at once wait for each other, and agree on the first key.
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        key = file.read()
        if not key:
            key = get_random_secret_key()
            file.write(key)
    return key


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
CSRF_FAILURE_VIEW = "policies.http.pages.drafts.answer_old_form"
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
    # A change may put a policy.
    "/api/v1/preview": 2 * 1024 * 1024,
    "/api/v1/entities/": 4 * 1024 * 1024,
    **dict.fromkeys(("/api/v1/reports/", "/api/v1/external-roles/", "/api/v1/groups/"), 2 * 1024 * 1024),
    "/api/v1/bundles/": 2 * 1024 * 1024,
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
# Whether plain calls for decisions are answered in front of Django's handler (authzsite.decision_gateway).
DECISION_GATEWAY = env.flag("DECISION_GATEWAY", default=True)
