"""The access check: whether the assertions in force hold (docs/assertions.md)."""

import json
from typing import TYPE_CHECKING, Any

from catalog.models import Report
from catalog.reports.kinds.dataset_access_check import tables
from catalog.reports.queries import assertions as queries
from catalog.reports.spec import ReportSpec
from catalog.reports.storage import StorageFolder
from policies.errors import Invalid

if TYPE_CHECKING:
    from catalog.assertions.parser import Assertion


def prepare(_: Report, folder: StorageFolder) -> None:
    """Write assertions.json, parsed. Raises Invalid with every problem, and OSError for an unreadable file."""
    # The library for YAML is needed by the worker that runs the report, and by no web process that lists its kind.
    from catalog.assertions import parser

    try:
        parsed_assertions = parser.parse(queries.load_text())
    except parser.InvalidAssertions as error:
        raise Invalid(error.problems) from None
    except UnicodeDecodeError as error:
        raise OSError(str(error)) from error
    document = {"assertions": [serialize_assertion(assertion) for assertion in parsed_assertions]}
    folder.write_text("assertions.json", json.dumps(document, ensure_ascii=False))


def serialize_assertion(assertion: "Assertion") -> dict[str, Any]:
    """Return an assertion as `checks.build_claims` reads it."""
    return {
        "name": assertion.name,
        "line": assertion.line,
        "kind": assertion.kind.value,
        "may_be_absent": assertion.may_be_absent,
        "holders": sorted(assertion.holders),
        "privileges": assertion.privileges,
        "platform": assertion.platform_privileges,
        "on": [
            {"field": item.field, "condition": item.condition.value, "values": sorted(item.values)}
            for item in assertion.scope.criteria
        ],
        "expected": [
            {
                "actor": item.actor,
                "privilege": item.privilege,
                "entity": item.entity,
                "is_allowed": item.is_allowed,
                "may_be_absent": item.may_be_absent,
            }
            for item in assertion.expectations
        ],
    }


SPEC = ReportSpec(
    name="dataset_access_check",
    title="Access check",
    description="Do the assertions hold: nobody else may, all of them may, these answers? Failures with reasons.",
    module=f"{__package__}.job",
    tables=(tables.ASSERTIONS, tables.FAILURES),
    is_nightly=True,
    prepare=prepare,
)
