"""Alerts as e-mails to ALERT_RECIPIENTS: one for each alert, as plain text."""

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage

from catalog.reports.alerts.alert import Alert
from catalog.reports.finding_labels import finding_type_label

#: Characters of a sentence in an e-mail at most.
_MAX_SENTENCE_LENGTH = 500


def send_email(*, alert: Alert, **_: Any) -> None:
    """Send an alert to ALERT_RECIPIENTS, if there are any. Raises OSError and SMTPException."""
    if settings.ALERT_RECIPIENTS:
        # A title is one line: names in it come from the registry alone.
        subject = f"[authzsite] {alert.title}"
        EmailMessage(subject, "\n".join(_iterate_lines(alert)), to=settings.ALERT_RECIPIENTS).send()


def _iterate_lines(alert: Alert) -> Iterator[str]:
    yield alert.sentence[:_MAX_SENTENCE_LENGTH]
    yield ""
    for finding in alert.findings:
        sentence = " ".join(finding.sentence.split())[:_MAX_SENTENCE_LENGTH]
        yield f"- {finding_type_label(finding.type)}: {sentence}"
    if (more_count := alert.finding_count - len(alert.findings)) > 0:
        yield f"- and {more_count:,} more"
    if alert.findings:
        yield ""
    yield f"{settings.PUBLIC_URL or ''}{alert.path}"
