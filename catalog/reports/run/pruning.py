"""Deletes old runs of reports, and never the last good results of what is asked."""

from uuid import UUID

from django.conf import settings
from django.db.models import F, QuerySet, Window
from django.db.models.functions import RowNumber

from catalog.models import Report
from catalog.reports.run import leftovers, run_state


def delete_old() -> int:
    """Delete the ended runs of each kind beyond the last REPORTS_KEPT, with rows and files; return their number.

    Kept beyond them are the last good results of each kind, and of each set of parameters it was run with, REPORTS_KEPT
    sets at most: neither failures nor runs that ask about something else delete the last answer to a question. Runs
    that are not yet in the open tables are kept, too, since nothing else knows their files.
    """
    count = 0
    ended_reports = Report.objects.exclude(status__in=Report.OPEN_STATUSES).filter(unpublished_tables=None)
    for kind in ended_reports.order_by().values_list("kind", flat=True).distinct():
        kind_reports = ended_reports.filter(kind=kind).order_by("-requested_at")
        kept_ids = _list_last_good(kind_reports)
        for report in kind_reports.defer("log", "parameters", "summary")[settings.REPORTS_KEPT :]:
            if report.pk not in kept_ids:
                run_state.drop_rows(report.pk)
                leftovers.remove_folder(run_state.report_folder(report.pk))
                report.delete()
                count += 1
    return count


def _list_last_good(reports: QuerySet[Report]) -> set[UUID]:
    """Return the ids of the last READY run for each of the REPORTS_KEPT sets of parameters asked about last."""
    age = Window(RowNumber(), partition_by=F("parameters"), order_by=["-requested_at", "id"])
    ready_reports = reports.filter(status=Report.Status.READY).annotate(age=age).filter(age=1)
    return set(ready_reports.order_by("-requested_at").values_list("pk", flat=True)[: settings.REPORTS_KEPT])
