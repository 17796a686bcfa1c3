"""The summary of a run: what failed, what was dear, and whether it stays within its budget."""

import pytest
import report as reports
from jobs import Ended, Job
from record import Line


@pytest.fixture
def report(monkeypatch):
    """A report on a machine whose slowness is 2."""
    monkeypatch.setattr(reports, "measure_slowness", lambda: 2.0)
    return reports.Report()


def end(name: str = "sqlite 1 of 2", status: int = 0, output: str = "3 passed in 2 s") -> Ended:
    return Ended(Job(name, ("python", "-m", "pytest")), status, 0, 2, 1.5, output, 2.0)


def test_a_failed_job_fails_the_run_and_is_named_with_its_last_words(report, capsys):
    report.add(end(status=1, output="one\n1 failed in 2 s\n"))
    assert report.close([]) == 1
    assert "FAILED sqlite 1 of 2   1 failed in 2 s" in capsys.readouterr().out


def test_a_process_without_a_test_is_no_failure_but_a_check_with_that_status_is(report):
    report.add(end(status=5))
    assert report.close([]) == 0
    report.add(Ended(Job("lint", ("ruff",)), 5, 0, 1, 1, "", 2.0))
    assert report.close([]) == 1


def test_stages_and_dearest_tests_are_shown(report, capsys):
    report.add(end())
    report.add(end("sqlite 2 of 2"))
    lines = [Line(f"tests/a.py::test_{number}", "sqlite", number, number, "passed") for number in range(30)]
    report.close(lines)
    shown = capsys.readouterr().out.splitlines()
    assert any(line.split() == ["sqlite", "2", "30", "2", "435", "2.00"] for line in shown)
    assert [line.split()[0] for line in shown if "::test_" in line] == [f"{n}.0" for n in range(29, 9, -1)]
    assert shown[-1] == "30 passed, 0 failed"


@pytest.mark.parametrize(("used", "status"), [(2 * 1000 * 1.1, 0), (2 * 1000 * 1.1 + 1, 1)])
def test_a_run_may_be_a_tenth_above_its_budget_times_the_slowness(report, monkeypatch, used, status):
    monkeypatch.setattr(reports, "read_budget", lambda: 1000.0)
    report._judge(used, has_budget=True)
    assert report.close([]) == status


def test_the_budget_is_a_number_of_the_project():
    assert reports.read_budget() > 0
