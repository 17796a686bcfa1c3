"""Logging: one structured line per event, with the id of its request; plain text or JSON."""

import logging.config
import re
from typing import Any

from authzsite.optional_libraries import exclude_modules

# For tracebacks in colour, which this site does not write; tools for development install it.
with exclude_modules("rich"):
    import structlog

SHARED_PROCESSORS: tuple[structlog.typing.Processor, ...] = (
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
)


# Neither shows the local variables of a traceback, which may hold passwords and tokens.
CONSOLE_RENDERER = structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
TRACEBACK_RENDERER = structlog.processors.ExceptionRenderer(
    structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
)

_SECRET_PATTERN = re.compile(r"(invite_token|reset_token|\bcode)(?:=|%3D)[^&\s]*")

#: django_structlog logs the start and the end of a request or task; the end has all the information.
START_EVENTS = frozenset({"request_started", "task_started"})


def drop_start_events(_logger: object, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Drop start events, which the end events repeat."""
    if event["event"] in START_EVENTS:
        raise structlog.DropEvent
    return event


def redact_secrets(_logger: object, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Replace the secrets of links (invitations, password resets) and OAuth codes in the URL of a request."""
    if "request" in event:
        event["request"] = _SECRET_PATTERN.sub(r"\1=…", str(event["request"]))
    return event


def build_configuration(*, level: str, style: str) -> dict[str, Any]:
    """Return the ``LOGGING`` setting: events at the level or above go to standard error, as console lines or JSON."""
    renderer: structlog.typing.Processor = structlog.processors.JSONRenderer() if style == "json" else CONSOLE_RENDERER
    processors: list[structlog.typing.Processor] = [structlog.stdlib.ProcessorFormatter.remove_processors_meta]
    if style == "json":
        processors.append(TRACEBACK_RENDERER)
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {
                "()": structlog.stdlib.ProcessorFormatter,
                "processors": [*processors, renderer],
                "foreign_pre_chain": [*SHARED_PROCESSORS, structlog.stdlib.ExtraAdder(), redact_secrets],
            }
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["stderr"], "level": level},
        # Django's own handlers would log the same events again.
        "loggers": {
            "django": {"handlers": [], "propagate": True},
            "django.server": {"handlers": [], "propagate": True},
            # django_structlog logs the end of a task; Celery would repeat it.
            "celery.app.trace": {"level": "WARNING"},
            "celery.worker.strategy": {"level": "WARNING"},
        },
    }


def configure(settings: dict[str, Any]) -> None:
    """Configure the standard library's logging, and structlog to pass its events to it."""
    logging.config.dictConfig(settings)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            drop_start_events,
            redact_secrets,
            *SHARED_PROCESSORS,
            structlog.stdlib.PositionalArgumentsFormatter(),
            structlog.processors.StackInfoRenderer(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
