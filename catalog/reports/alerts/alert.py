"""An alert, and the signal that announces it to every channel."""

from dataclasses import dataclass
from enum import StrEnum

from django.dispatch import Signal

from catalog.models import Finding, Report

#: Findings that an alert holds at most; `finding_count` counts all of them.
MAX_FINDINGS = 20


class AlertKind(StrEnum):
    """What an alert is about."""

    CRITICAL_FINDINGS = "CRITICAL_FINDINGS"
    RUN_FAILED = "RUN_FAILED"
    RUN_LATE = "RUN_LATE"


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert about one run: its kind, a title, a sentence, and the first new critical findings, of `finding_count`.

    `path` is the address of the page below PUBLIC_URL.
    """

    kind: AlertKind
    report: Report
    title: str
    sentence: str
    path: str
    findings: tuple[Finding, ...] = ()
    finding_count: int = 0


#: Sent with `alert` once for each alert, in a worker and outside of transactions. What a receiver raises is logged and
#: keeps no other receiver from it. `sender` is the kind of the alert.
alert_raised = Signal()
