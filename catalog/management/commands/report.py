"""`manage.py report KIND [--wait]`: queue a report or run it in this process; `nightly` queues the nightly set."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from catalog.models import Report
from catalog.reports import tasks as report_tasks
from catalog.reports.registry import KINDS
from catalog.reports.run import runner
from catalog.reports.services import reports
from policies.errors import Invalid, PolicyAppError
from policies.pdp.authorizer import SYSTEM

#: Name for all kinds that run each night.
NIGHTLY = "nightly"


class Command(BaseCommand):
    """Request a report as the system. With --wait this process runs it, and exits with 1 unless it is READY."""

    help = "Start a report; a worker runs it. With --wait this process runs it and prints the outcome."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the kind, its parameters and --wait."""
        parser.add_argument("kind", metavar="KIND", help="one of " + ", ".join((*KINDS, NIGHTLY)))
        parser.add_argument("--wait", action="store_true", help="run the report in this process and wait for it")
        parser.add_argument(
            "--parameters",
            default="{}",
            metavar="JSON",
            help="JSON object of parameters; those left out have their defaults",
        )

    def handle(self, *_: Any, kind: str, wait: bool, parameters: str, **__: Any) -> None:
        """Queue the report, or run it."""
        if kind == NIGHTLY:
            self.stdout.write(f"{report_tasks.run_nightly_reports()} reports are queued.")
            return
        try:
            report = reports.request_report(
                kind=kind, parameters=_parse_object(parameters), by=SYSTEM, is_queued=not wait
            )
        except Invalid as error:
            for problem in error.problems:
                self.stderr.write(f"{problem.pointer}: {problem.detail} [{problem.code}]")
            raise CommandError("The parameters are wrong; nothing was started.") from None
        except PolicyAppError as error:
            raise CommandError(error.detail) from None
        if not wait:
            self.stdout.write(f"{report.pk} is queued.")
            return
        status = runner.run_report(report.pk)
        report.refresh_from_db()
        if status != Report.Status.READY:
            raise CommandError(f"{report.pk}: {status.label}. {report.problem}")
        seconds = ((report.finished_at or report.requested_at) - report.requested_at).total_seconds()
        self.stdout.write(f"{report.pk} is ready after {seconds:.1f} s.")


def _parse_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise CommandError('--parameters must be a JSON object, such as \'{"privileges": ["VIEW_ENTITY_PAGE"]}\'.')
    return value
