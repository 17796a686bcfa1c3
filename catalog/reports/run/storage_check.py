"""The question, before a run of a report begins, whether its storage can be used."""

from django.conf import settings

from catalog.reports import storage_problems
from catalog.reports.spec import ReportSpec


def find_problem(spec: ReportSpec) -> str:
    """Return the sentence about storage that a run of this kind needs and cannot use, or "". Takes seconds at most."""
    reports_address: str = settings.REPORTS_DIR
    problem = storage_problems.find_writing_problem(reports_address, variable="REPORTS_DIR")
    return problem or spec.find_input_problem()
