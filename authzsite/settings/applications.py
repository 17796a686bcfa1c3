"""Applications, middleware and templates."""

from authzsite.settings.paths import BASE_DIR

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
        "DIRS": [BASE_DIR / "templates", BASE_DIR / "policies/events/channels/email/templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "policies.http.pages.layout_context.build_context",
                "policies.events.pages.bell.build_context",
                "policies.requests.pages.to_decide_count.build_context",
            ],
            "libraries": {"drawings": "policies.http.pages.icons"},
        },
    }
]
LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
