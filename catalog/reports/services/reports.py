"""Starting and cancelling reports. Both require MANAGE_POLICIES, since a report shows what every user may do."""

import logging
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import transaction

from catalog.errors import add_pointer_prefix
from catalog.models import Report
from catalog.reports.registry import KINDS
from catalog.reports.run import run_state
from policies.engine.model import Actor
from policies.errors import Conflict, Invalid, NotFound
from policies.pdp import authorizer
from policies.propagation import pubsub, task_queue

log = logging.getLogger(__name__)

#: Privilege required to view, start and cancel reports.
REQUIRED_PRIVILEGE = "MANAGE_POLICIES"

_QUEUE_UNREACHABLE = "The queue could not be reached, so no worker knows of this report. Start it again."


def request_report(*, kind: str, parameters: Mapping[str, Any], by: Actor, is_queued: bool = True) -> Report:
    """Create a run of a kind of report and return it, queued for a worker; without `is_queued` the caller runs it.

    Raises Forbidden, NotFound for an unknown kind, Invalid with every problem (pointers begin at /parameters), and
    Conflict while one of the kind is queued or running, or its storage cannot be used.
    """
    authorizer.require(by=by, any_of=[[REQUIRED_PRIVILEGE]])
    spec = KINDS.get(kind)
    if spec is None:
        raise NotFound(f"There is no kind of report {kind!r}; there are {', '.join(KINDS)}.")
    try:
        values = spec.validate(parameters)
    except Invalid as error:
        raise Invalid(add_pointer_prefix(error.problems, "/parameters")) from None
    if problem := spec.find_problem():
        raise Conflict(problem)
    report = run_state.queue(spec=spec, parameters=values, by=by.urn)
    if report is None:
        raise Conflict(f"A report of the kind {spec.title} is queued or running already; one runs at a time.")
    if is_queued:
        transaction.on_commit(lambda: _enqueue(report))
    return report


def cancel(*, report_id: UUID, by: Actor) -> None:
    """Cancel a run that is queued or running. Raises Forbidden, NotFound, and Conflict when it has ended already."""
    authorizer.require(by=by, any_of=[[REQUIRED_PRIVILEGE]])
    if not Report.objects.filter(pk=report_id).exists():
        raise NotFound("There is no such report.")
    if not run_state.cancel(report_id):
        raise Conflict("This report has ended already.")


def _enqueue(report: Report) -> None:
    try:
        pubsub.check_redis()
        task_queue.enqueue(run_state.RUN_TASK, str(report.pk))
    except pubsub.list_connection_errors() as error:
        log.warning("report_not_queued", extra={"report": str(report.pk), "error": str(error)})
        run_state.fail(report, problem=_QUEUE_UNREACHABLE)
