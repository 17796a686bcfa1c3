"""Warehouse usage: what the history of access of source systems says of their grants (docs/grants-exports.md)."""

from django.conf import settings

from catalog.aspects.facet_fields import ACCESS_ROLE, SUBTYPE, UPSTREAM
from catalog.reports.kinds.role_mapping_check import spec as role_mapping_check_spec
from catalog.reports.kinds.warehouse_usage import tables
from catalog.reports.spec import UNTESTED_FACET_FIELDS, Parameter, ParameterType, ReportSpec
from catalog.reports.warehouse_tables import USES

SPEC = ReportSpec(
    name="warehouse_usage",
    title="Warehouse usage",
    description="Unused warehouse grants, and use that no policy allows.",
    module=f"{__package__}.job",
    excluded_fields=UNTESTED_FACET_FIELDS - {ACCESS_ROLE, SUBTYPE, UPSTREAM},
    parameters=(
        Parameter(
            name="days",
            title="Days",
            input=ParameterType.NUMBER,
            help="How far to look back from the end of each history. One that is shorter calls nothing unused.",
            default=90,
            is_required=True,
            minimum=1,
            maximum=3650,
        ),
        role_mapping_check_spec.SENSITIVE_TAGS_PARAMETER,
    ),
    tables=(
        *(tables.FINDINGS, tables.GRANTS, tables.MEMBERSHIPS, tables.PROPOSALS, USES, tables.LOSSES),
        *(tables.EXPORTS, tables.PASSED, tables.QUARANTINE),
    ),
    # Nightly only where exports are configured.
    is_nightly=bool(settings.GRANTS_EXPORTS),
    has_joins=True,
    prepare=role_mapping_check_spec.prepare,
    find_input_problem=role_mapping_check_spec.find_input_problem,
)
