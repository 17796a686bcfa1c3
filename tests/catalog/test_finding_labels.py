"""Every type of finding that a report can write has a name on pages."""

from catalog.reports import guardrail_findings
from catalog.reports.finding_labels import FINDING_LABELS, finding_type_label
from catalog.reports.kinds.policy_hygiene import job as policy_hygiene_job
from catalog.reports.kinds.role_mapping_check.differences import DifferenceType
from catalog.reports.kinds.warehouse_usage.findings import UsageFindingType


def test_every_type_of_finding_has_a_name():
    types = [*policy_hygiene_job.SEVERITIES, *DifferenceType, *UsageFindingType, guardrail_findings.FINDING_TYPE]
    written = {str(code) for code in types}
    assert written == FINDING_LABELS.keys()


def test_names_are_words_and_distinct():
    assert len(set(FINDING_LABELS.values())) == len(FINDING_LABELS)
    assert not [label for label in FINDING_LABELS.values() if "_" in label or label.isupper()]


def test_a_type_of_an_earlier_release_is_spelt_from_its_code():
    assert finding_type_label("SOMETHING_OLD") == "Something old"
