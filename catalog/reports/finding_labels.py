"""Labels that pages give to types of findings; files and the API use the codes."""

from collections.abc import Mapping

#: Code of a type to its label on pages.
FINDING_LABELS: Mapping[str, str] = {
    # Role mapping check: the catalog compared with the grants of source systems.
    "GRANT_MISSING": "Declared access is missing in the source",
    "EXTRA_GRANT": "Access that the catalog does not declare",
    "WRONG_LEVEL": "Different level of access",
    "ROLE_GONE": "Role does not exist in the source",
    "ROLE_RENAMED": "Role has another name in the source",
    "ROLE_WITHOUT_DATASETS": "Role without datasets",
    "SENSITIVE_WITHOUT_ROLE": "Sensitive dataset without a role",
    "SENSITIVE_OPEN": "Sensitive data that no policy masks or filters",
    "MEMBER_MISSING": "Declared member is missing in the source",
    "EXTRA_MEMBER": "Member that the catalog does not declare",
    "DIRECT_USER_GRANT": "Access granted to a person directly",
    "PASSED_SENSITIVE": "Grants on sensitive data that were not compared",
    "FUTURE_GRANT": "Access to tables that are made in future",
    "POLICIES_BYPASSED": "Bypasses row filters on sensitive data",
    # Warehouse usage: the catalog and the grants of source systems compared with what was used.
    "UNUSED_GRANT": "Granted and not used",
    "UNDECLARED_USE": "Used without a role of the catalog",
    # Guardrails.
    "GUARDRAIL_BROKEN": "Guardrail is broken",
    # Policy hygiene.
    "ORPHAN": "Names something that does not exist",
    "UNKNOWN_FIELDS": "Inactive because of unknown fields",
    "REACHES_NOBODY": "Applies to nobody",
    "REACHES_NOTHING": "Applies to no entity",
    "NEVER_MATCHES": "Can never apply",
    "SHADOWED": "Covered by other policies",
    "REDUNDANT_STATEMENT": "Statement that changes nothing",
    "DUPLICATE": "Same as another policy",
    "ONE_POLICY_PER_USER": "One policy per user",
    "URN_SPECIFIC": "Entities named one by one",
    "OVERLAPPING_DOMAINS": "Overlapping domains",
    "DEEP_DOMAINS": "Boundary deep in the domain tree",
    "CONTAINER_CHAIN": "Chain of containers",
    "ROLE_BESIDE_ISOLATION": "Role that bypasses isolation",
}


def finding_type_label(code: str) -> str:
    """Return the label of a type of finding; without one it is derived from the code."""
    return FINDING_LABELS.get(code) or code.replace("_", " ").capitalize()
