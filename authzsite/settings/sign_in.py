"""Users, passwords, the lockout after wrong ones, and sign-in through a provider."""

from datetime import timedelta

from authzsite import env, oidc_settings
from authzsite.settings.http import LOCKOUT_AFTER, LOCKOUT_MINUTES

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
