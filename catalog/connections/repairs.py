"""Repairs of a role mapping run, applied to the source: proposed, previewed, confirmed, and applied as a whole.

A worker previews a set: the statements run at the source and are taken back. When it is applied, it has to change for
everybody what the preview said, and nothing else.
"""

import logging
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from catalog.connections import snapshots, sources
from catalog.models import Report, ReportRow, WarehouseChange, WarehouseSnapshot
from catalog.reports.kinds.role_mapping_check.spec import SPEC
from catalog.reports.tables import FINDINGS_TABLE, ResultTable
from catalog.warehouses.connector import AccessFact, AccessOutcome, ConnectorProblem, StatementRefused
from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.errors import Conflict, Forbidden, Invalid, NotFound
from policies.pdp import authorizer
from policies.propagation import pubsub, task_queue

log = logging.getLogger(__name__)

#: Findings are for who manages policies; what is done to a source, for who manages warehouses.
PROPOSING_PRIVILEGES = (snapshots.REQUIRED_PRIVILEGE, "MANAGE_POLICIES")

PREVIEW_TASK, APPLY_TASK = "catalog.preview_repairs", "catalog.apply_repairs"

#: Statements of one set at most: they hold their locks until the last one.
MAX_STATEMENTS = 2_000

ANOTHER_CONFIRMS = "Who proposed repairs does not confirm them: another holder of MANAGE_WAREHOUSES has to."

_QUEUE_TIME = timedelta(minutes=30)
_GRACE = timedelta(seconds=60)
_NO_QUEUE = "The queue could not be reached, so no worker knows of it. Nothing was changed: propose it again."
_NO_WORKER = "No worker took it in time. Nothing was changed: see whether workers run, and propose it again."
_LOST_PREVIEW = "The worker that previewed it went away. Nothing was changed: propose it again."
_LOST_WORKER = (
    "The worker that applied it went away. If it had not ended, nothing was changed; take a snapshot to know, before "
    "anything else."
)

Status = WarehouseChange.Status


@dataclass(frozen=True, slots=True)
class Repair:
    """The statements of one finding, or why they are not run."""

    key: str
    sentence: str
    statements: Sequence[str]
    problem: str = ""


def list_repairs(*, name: str) -> tuple[Report | None, list[Repair]]:
    """Return the last good run, and its repairs that have statements for a connection. Raises NotFound."""
    connection = sources.get_connection(name)
    report = Report.objects.filter(kind=SPEC.name, status=Report.Status.READY).first()
    if report is None:
        return None, []
    (table,) = (table for table in SPEC.tables if table.name == FINDINGS_TABLE)
    return report, list(_read_repairs(connection, report, table))


def _read_repairs(connection: sources.WarehouseConnection, report: Report, table: ResultTable) -> Iterator[Repair]:
    positions = {column.name: index for index, column in enumerate(table.columns)}
    rows = ReportRow.objects.filter(report=report, table=table.name).order_by("position")
    for row in rows.iterator():
        values = {column: row.values[position] for column, position in positions.items()}
        if values["export"] != connection.name or not values["repair"]:
            continue
        try:
            statements = connection.connector.split_repair(values["repair"])
        except ConnectorProblem as problem:
            yield Repair(row.key, values["sentence"], (), str(problem))
            continue
        if statements:
            yield Repair(row.key, values["sentence"], statements)


def propose(*, name: str, keys: Collection[str] | None, by: Actor) -> WarehouseChange:
    """Propose the repairs of these findings, all of the last run without keys, and have a worker preview them.

    Raises Forbidden, NotFound, Invalid for findings without statements, and Conflict where nothing can be applied.
    """
    authorizer.require(by=by, any_of=[list(PROPOSING_PRIVILEGES)])
    report, repairs = list_repairs(name=name)
    if not sources.get_connection(name).apply_variable:
        raise Conflict(f"{name} has no DSN to apply repairs with, so it is only read.")
    snapshot = snapshots.find_last([name], WarehouseSnapshot.Status.READY).get(name)
    if report is None or snapshot is None:
        raise Conflict(f"No run of the role mapping check has read a snapshot of {name}.")
    chosen = [repair for repair in repairs if (repair.statements if keys is None else repair.key in keys)]
    _check_chosen(chosen, keys)
    change = WarehouseChange.objects.create(
        connection=name,
        report=report,
        identity=snapshot.reading["identity"],
        statements=[
            {"finding": repair.key, "statement": statement} for repair in chosen for statement in repair.statements
        ],
        requested_by=by.urn,
    )
    transaction.on_commit(lambda: _enqueue(PREVIEW_TASK, change))
    return change


def _check_chosen(chosen: Sequence[Repair], keys: Collection[str] | None) -> None:
    """Raise Invalid for findings that have no statements, for none, and for too many."""
    problems = [Problem("repair.refused", "/findings", repair.problem) for repair in chosen if repair.problem]
    known_keys = {repair.key for repair in chosen}
    problems += [
        Problem("repair.unknown", "/findings", f"The last run has no statements for the finding {key}.")
        for key in keys or ()
        if key not in known_keys
    ]
    count = sum(len(repair.statements) for repair in chosen)
    if not problems and not count:
        problems.append(Problem("repair.none", "/findings", "There is nothing to repair."))
    if count > MAX_STATEMENTS:
        detail = f"These are {count:,} statements; one set has {MAX_STATEMENTS:,} at most."
        problems.append(Problem("repair.many", "/findings", detail))
    if problems:
        raise Invalid(problems)


def list_changes(*, name: str) -> QuerySet[WarehouseChange]:
    """Return the sets of a connection, newest first. Raises NotFound."""
    sources.get_connection(name)
    expire()
    return WarehouseChange.objects.filter(connection=name)


def get_change(*, name: str, change_id: UUID) -> WarehouseChange:
    """Return a set of repairs. Raises NotFound."""
    change = list_changes(name=name).filter(pk=change_id).first()
    if change is None:
        raise NotFound(f"{name} has no such set of repairs.")
    return change


def may_confirm(change: WarehouseChange, *, by: Actor) -> bool:
    """Whether somebody who manages warehouses may confirm a set, which another one may have to."""
    return not settings.REPAIRS_NEED_TWO or change.requested_by != by.urn


def confirm(*, name: str, change_id: UUID, by: Actor) -> WarehouseChange:
    """Confirm a set that is previewed, and have a worker apply it. Raises Forbidden, NotFound, and Conflict."""
    authorizer.require(by=by, any_of=[[snapshots.REQUIRED_PRIVILEGE]])
    change = get_change(name=name, change_id=change_id)
    if not may_confirm(change, by=by):
        raise Forbidden((), ANOTHER_CONFIRMS)
    try:
        with transaction.atomic():
            is_confirmed = _move(change, Status.PREVIEWED, Status.CONFIRMED, confirmed_by=by.urn)
    except IntegrityError:
        raise Conflict(f"Another set of repairs of {name} is being applied: wait until that is done.") from None
    if not is_confirmed:
        raise Conflict("Only a set that is previewed, and no more than that, can be confirmed.")
    transaction.on_commit(lambda: _enqueue(APPLY_TASK, change))
    change.refresh_from_db()
    return change


def cancel(*, name: str, change_id: UUID, by: Actor) -> None:
    """Discard a set that waits for confirmation. Raises Forbidden, NotFound, and Conflict."""
    authorizer.require(by=by, any_of=[[snapshots.REQUIRED_PRIVILEGE]])
    if not _move(get_change(name=name, change_id=change_id), Status.PREVIEWED, Status.DISCARDED):
        raise Conflict("Only a set that waits for confirmation can be discarded.")


def preview(change_id: UUID) -> None:
    """Preview a set: run its statements at the source and take them back."""
    change = WarehouseChange.objects.filter(pk=change_id, status=Status.QUEUED).first()
    if change is None:
        return
    try:
        connection = sources.get_connection(change.connection)
        difference = connection.connector.try_statements(
            sources.read_dsn(connection.apply_variable),
            _list_statements(change),
            identity=change.identity,
            seconds=settings.SNAPSHOT_SECONDS,
        )
    except (ConnectorProblem, NotFound) as problem:
        _fail(change, Status.QUEUED, problem)
        return
    _move(change, Status.QUEUED, Status.PREVIEWED, preview=_write_difference(difference))


def apply(change_id: UUID) -> None:
    """Apply a confirmed set in one transaction, and have the source read again; the check of roles follows that."""
    change = WarehouseChange.objects.filter(pk=change_id).first()
    if change is None or not _move(change, Status.CONFIRMED, Status.RUNNING):
        return

    def report_progress(_: str, done: int, __: int) -> None:
        WarehouseChange.objects.filter(pk=change.pk).update(done=done)

    try:
        connection = sources.get_connection(change.connection)
        connection.connector.apply_statements(
            sources.read_dsn(connection.apply_variable),
            _list_statements(change),
            identity=change.identity,
            seconds=settings.SNAPSHOT_SECONDS,
            expected=read_difference(change),
            report_progress=report_progress,
        )
    except (ConnectorProblem, NotFound) as problem:
        _fail(change, Status.RUNNING, problem)
        return
    _move(change, Status.RUNNING, Status.APPLIED, done=len(change.statements))
    log.info("repairs_applied", extra={"connection": change.connection, "change": str(change.pk)})
    snapshots.request_anew(change.connection)


def read_difference(change: WarehouseChange) -> AccessOutcome:
    """Return who gains and who loses what by a set that is previewed."""
    preview = change.preview or {"gained": [], "lost": []}
    gained, lost = (tuple(AccessFact(*fact) for fact in preview[name]) for name in ("gained", "lost"))
    return AccessOutcome(gained, lost)


def expire() -> int:
    """End the sets whose worker went away, or that no worker took; return their number."""
    now = timezone.now()
    last_start = now - timedelta(seconds=settings.SNAPSHOT_SECONDS) - _GRACE
    last_queue = now - _QUEUE_TIME - timedelta(seconds=settings.SNAPSHOT_SECONDS)
    ends = (
        (Status.QUEUED, last_queue, _LOST_PREVIEW),
        (Status.CONFIRMED, now - _QUEUE_TIME, _NO_WORKER),
        (Status.RUNNING, last_start, _LOST_WORKER),
    )
    return sum(
        WarehouseChange.objects.filter(status=status, moved_at__lt=cutoff).update(
            status=Status.FAILED, moved_at=now, problem=problem
        )
        for status, cutoff, problem in ends
    )


def _list_statements(change: WarehouseChange) -> list[str]:
    return [entry["statement"] for entry in change.statements]


def _write_difference(difference: AccessOutcome) -> dict[str, Any]:
    return {
        name: [[fact.holder, fact.privilege, fact.on] for fact in facts]
        for name, facts in (("gained", difference.gained), ("lost", difference.lost))
    }


def _fail(change: WarehouseChange, status: Status, problem: ConnectorProblem | NotFound) -> None:
    done = {"done": problem.position} if isinstance(problem, StatementRefused) else {}
    _move(change, status, Status.FAILED, problem=str(problem), **done)
    log.warning("repairs_failed", extra={"connection": change.connection, "change": str(change.pk)})


def _move(change: WarehouseChange, status: Status, next_status: Status, **fields: Any) -> bool:
    """Set the next status of a set that still has this one; return whether it had."""
    moving = WarehouseChange.objects.filter(pk=change.pk, status=status)
    return bool(moving.update(status=next_status, moved_at=timezone.now(), **fields))


def _enqueue(task: str, change: WarehouseChange) -> None:
    try:
        pubsub.check_redis()
        task_queue.enqueue(task, str(change.pk), expires=_QUEUE_TIME.total_seconds())
    except pubsub.list_connection_errors() as error:
        log.warning("repairs_not_queued", extra={"change": str(change.pk), "error": str(error)})
        waiting = WarehouseChange.objects.filter(pk=change.pk, status__in=WarehouseChange.WORKER_STATUSES)
        waiting.update(status=Status.FAILED, moved_at=timezone.now(), problem=_NO_QUEUE)
