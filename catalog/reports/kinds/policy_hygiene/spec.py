"""The report of policy hygiene: no effect, duplicates, missing references, anti-patterns (docs/hygiene.md)."""

import json

from catalog.models import Report
from catalog.reports.kinds.policy_hygiene import tables
from catalog.reports.spec import ReportSpec
from catalog.reports.storage import StorageFolder
from policies.authoring.queries import policies
from policies.pdp import display_names


def prepare(_: Report, folder: StorageFolder) -> None:
    """Write known.json, since a snapshot has neither all people nor policies that are not active.

    It holds the URNs of all users, groups and roles, and policy URN → pointers of the fields that keep it INACTIVE.
    """
    document = {
        "people": sorted(display_names.load_people_urns()),
        "unknown_fields": {
            urn: [problem.pointer for problem in problems] for urn, problems in policies.iterate_unknown_fields()
        },
    }
    folder.write_text("known.json", json.dumps(document, ensure_ascii=False))


SPEC = ReportSpec(
    name="policy_hygiene",
    title="Policy hygiene",
    description="Policies that reach nobody or nothing, repeat others, name what is gone, or follow an anti-pattern.",
    module=f"{__package__}.job",
    tables=(tables.FINDINGS, tables.POLICIES),
    is_nightly=True,
    prepare=prepare,
)
