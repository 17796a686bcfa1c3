"""Workers that are told of several runs at the same moment begin as many as may run at once."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection

from catalog.models import Report
from catalog.reports.registry import KINDS
from catalog.reports.run import run_state
from policies.pdp.authorizer import SYSTEM

ROUNDS = 10


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("max_running", [1, 2])
def test_workers_that_claim_together_begin_no_more_than_may_run(max_running: int) -> None:
    barrier = Barrier(4)

    def claim(report: Report) -> None:
        try:
            connection.ensure_connection()
            barrier.wait()
            run_state.claim(report.pk, max_running=max_running)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        for _ in range(ROUNDS):
            queued = [run_state.queue(spec=spec, parameters={}, by=SYSTEM.urn) for spec in list(KINDS.values())[:4]]
            reports = [report for report in queued if report is not None]
            assert len(reports) == 4
            list(pool.map(claim, reports))
            assert Report.objects.filter(status=Report.Status.RUNNING).count() == max_running
            for report in reports:
                assert run_state.cancel(report.pk)
