"""Events and notices: how long they are kept, who is told by mail, and the server that sends it."""

from authzsite import env

# Addresses of those whom alerts are sent to by e-mail; without one no e-mail is sent.
ALERT_RECIPIENTS = env.names("ALERT_RECIPIENTS")
# Minutes after which a nightly report that has not ended is late.
NIGHTLY_LATE_MINUTES = env.integer("NIGHTLY_LATE_MINUTES", default=180, minimum=1)

# Days for which events and notices are kept; a reader of the stream that comes later has missed some.
EVENT_DAYS = env.integer("EVENT_DAYS", default=30, minimum=1)
NOTICE_DAYS = env.integer("NOTICE_DAYS", default=90, minimum=1)
# Whether people get their notices by mail; unless it is set, where a server of mails is.
NOTICE_MAIL = env.flag("NOTICE_MAIL", default=bool(env.text("EMAIL_HOST") or env.text("EMAIL_BACKEND")))
# Hour (UTC) of daily mails.
NOTICE_MAIL_HOUR = env.integer("NOTICE_MAIL_HOUR", default=6) % 24
# Refusals within a quarter of an hour below which none is a spike.
REFUSAL_SPIKE_MINIMUM = env.integer("REFUSAL_SPIKE_MINIMUM", default=200, minimum=1)

EMAIL_BACKEND = env.text("EMAIL_BACKEND", "django.core.mail.backends.smtp.EmailBackend")
EMAIL_FILE_PATH = env.text("EMAIL_FILE_PATH") or None
EMAIL_HOST = env.text("EMAIL_HOST", "localhost")
EMAIL_PORT = env.integer("EMAIL_PORT", default=25, minimum=1)
EMAIL_HOST_USER = env.text("EMAIL_HOST_USER")
EMAIL_HOST_PASSWORD = env.text("EMAIL_HOST_PASSWORD")
EMAIL_USE_TLS = env.flag("EMAIL_USE_TLS", default=False)
EMAIL_USE_SSL = env.flag("EMAIL_USE_SSL", default=False)
EMAIL_TIMEOUT = env.integer("EMAIL_TIMEOUT", default=10, minimum=1)
DEFAULT_FROM_EMAIL = env.text("DEFAULT_FROM_EMAIL", "authzsite@localhost")
