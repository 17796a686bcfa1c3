"""Publishes what READY runs wrote into the open tables, and deletes what other attempts left there.

The entry of a run is stored with it in the transaction that makes it READY, and written to the manifest after that, by
whichever worker comes first: a worker that is killed in between loses nothing, and no run is published that is not
READY.
"""

import json
import logging
from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.utils import timezone

from catalog.models import Report
from catalog.reports import storage
from catalog.reports.result_tables import delta_log, manifest
from catalog.reports.result_tables.manifest import ManifestEntry
from catalog.reports.result_tables.run_files import WRITTEN_FILE, FilePlan
from catalog.reports.result_tables.schemas import TABLES
from catalog.reports.run.result_loader import UnreadableResults
from catalog.reports.storage import BadAddress, StorageFolder

log = logging.getLogger(__name__)


def open_tables_folder() -> StorageFolder:
    """Return the folder of the open tables. Raises BadAddress."""
    if settings.RESULT_TABLES_DIR:
        return storage.parse_address(settings.RESULT_TABLES_DIR)
    return storage.parse_address(settings.REPORTS_DIR) / "tables"


def plan_files(report: Report) -> FilePlan:
    """Return what the job of a run with a snapshot has to know."""
    assert report.as_of is not None  # noqa: S101 - set with the snapshot
    assert report.policy_version is not None  # noqa: S101 - set with the snapshot
    return FilePlan(
        folder=open_tables_folder().url,
        run=str(report.pk),
        attempt=report.attempts,
        kind=report.kind,
        as_of=report.as_of.isoformat(),
        policy_version=report.policy_version,
        max_edges=settings.RESULT_TABLES_EDGES,
    )


def read_entry(report: Report, results: StorageFolder) -> ManifestEntry:
    """Return the entry of a run for what its job wrote. Raises UnreadableResults."""
    try:
        written_tables = json.loads(results.read_bytes(WRITTEN_FILE))
    except (OSError, ValueError) as error:
        raise UnreadableResults(f"{WRITTEN_FILE} of the results cannot be read.") from error
    return manifest.build_entry(plan_files(report), written_tables, published_at=timezone.now().isoformat())


def publish(report: Report) -> None:
    """Publish a READY run, and delete the files of its earlier attempts."""
    publish_pending()
    if report.attempts > 1:
        delete_abandoned(report.kind)


def publish_pending() -> int:
    """Publish the READY runs that are not yet published, and return their number."""
    count = 0
    for report in Report.objects.filter(status=Report.Status.READY, unpublished_tables__isnull=False):
        try:
            folder = open_tables_folder()
            if settings.RESULT_TABLES_FORMAT == "delta":
                delta_log.commit_entry(folder, report.unpublished_tables)
            manifest.write_entry(folder, report.unpublished_tables)
        except (OSError, BadAddress, ImportError) as error:
            # The next look of the schedule tries again, maybe by a worker that has the library.
            log.error("report_not_published", extra={"report": str(report.pk), "error": str(error)})
            continue
        Report.objects.filter(pk=report.pk).update(unpublished_tables=None)
        count += 1
    return count


def delete_abandoned(kind: str) -> int:
    """Delete the files of attempts of this kind that did not become results, and return their number.

    Files of runs that are not in this database are left alone.
    """
    try:
        return _delete_abandoned(kind)
    except (OSError, BadAddress) as error:
        # Nobody reads what the manifest does not name.
        log.warning("result_files_not_discarded", extra={"report_kind": kind, "error": str(error)})
        return 0


def _delete_abandoned(kind: str) -> int:
    attempts_by_path = {path: _parse_attempt(path.rpartition("/")[2]) for path in _iterate_paths(kind)}
    ids = {attempt[0] for attempt in attempts_by_path.values() if attempt is not None}
    reports = Report.objects.only("status", "attempts").in_bulk(ids) if ids else {}
    discarded_paths = [
        path
        for path, attempt in attempts_by_path.items()
        if attempt is not None and attempt[0] in reports and not _may_count(reports[attempt[0]], attempt[1])
    ]
    folder = open_tables_folder()
    for path in discarded_paths:
        folder.delete_file(path)
    return len(discarded_paths)


def delete_old() -> int:
    """Delete the runs that are older than RESULT_TABLES_DAYS from the open tables; return their number. Raises OSError.

    Without such a number of days they stay, whatever is deleted of the runs themselves.
    """
    if not settings.RESULT_TABLES_DAYS:
        return 0
    first_day = f"{timezone.now() - timedelta(days=settings.RESULT_TABLES_DAYS):%Y-%m-%d}"
    folder = open_tables_folder()
    old_entries = [entry for entry in manifest.iterate_entries(folder) if entry["day"] < first_day]
    for entry in old_entries:
        if settings.RESULT_TABLES_FORMAT == "delta":
            delta_log.delete_entry(folder, entry)
        manifest.delete_entry(folder, entry)
    return len(old_entries)


def _iterate_paths(kind: str) -> Iterator[str]:
    """Yield the paths of all files of a kind."""
    folder = open_tables_folder()
    for table in TABLES:
        kind_path = f"{table}/report={kind}"
        for day in (folder / kind_path).list_names():
            for name in (folder / kind_path / day).list_names():
                yield f"{kind_path}/{day}/{name}"


def _parse_attempt(name: str) -> tuple[UUID, int] | None:
    """Return run and number of the attempt that wrote a file, or None for another file."""
    *run_parts, attempt = name.partition(".")[0].split("-")[:6]
    try:
        return UUID("-".join(run_parts)), int(attempt)
    except ValueError:
        return None


def _may_count(report: Report, attempt: int) -> bool:
    """Whether the files of this attempt are part of the tables, or may become so."""
    return report.status in (Report.Status.RUNNING, Report.Status.READY) and attempt == report.attempts
