"""The question, before a run of a report begins, whether its storage can be used."""

from django.conf import settings

from catalog.reports import storage_problems
from catalog.reports.spec import ReportSpec


def find_problem(spec: ReportSpec) -> str:
    """Return the sentence about storage that a run of this kind needs and cannot use, or "". Takes seconds at most."""
    for variable in ("REPORTS_DIR", "RESULT_TABLES_DIR"):
        address: str = getattr(settings, variable)
        if address and (problem := storage_problems.find_writing_problem(address, variable=variable)):
            return problem
    return spec.find_input_problem()
