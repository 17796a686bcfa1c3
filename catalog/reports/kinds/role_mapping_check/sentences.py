"""Differences as sentences, and what to do about each in words."""

import json
from collections.abc import Mapping
from typing import Any

from catalog.reports.kinds.role_mapping_check.differences import DifferenceType
from catalog.warehouses.difference_words import describe_role, dotted_name, find_identifier
from catalog.warehouses.levels import LEVEL_NAMES
from catalog.warehouses.pass_rules import RULE_LABELS
from catalog.warehouses.principals import (
    UNWRITTEN_TYPES,
    describe_principal,
    split_principal,
)
from catalog.warehouses.warehouse import DifferenceRow, Export, list_patterns


def render_sentence(difference: DifferenceRow) -> str:
    """Return the description of a difference."""
    template = _SENTENCES[DifferenceType(difference["type"])]
    if difference["type"] == DifferenceType.EXTRA_GRANT and not difference["entity"]:
        template = _CONTAINER_GRANT_SENTENCE if difference["object"] else _ROLE_GRANT_SENTENCE
    if difference["type"] == DifferenceType.GRANT_MISSING and not difference["entity"]:
        template = _ENTRY_SENTENCE
    return template.format(**list_words(difference))


def render_rollup(first: DifferenceRow, count: int) -> str:
    """Return the description of `count` differences of one type about one role, person or schema."""
    words = list_words(first)
    name = first["name"] or find_dataset_name(first["entity"] or "") or words["object"]
    template = _ROLLUP_SENTENCES[DifferenceType(first["type"])]
    if first["type"] == DifferenceType.GRANT_MISSING and not first["entity"]:
        template = _ENTRY_ROLLUP_SENTENCE
    return template.format(**words | {"members": f"{count:,}", "schema": name.rpartition(".")[0] or name})


def find_dataset_name(urn: str) -> str:
    """Return the name of a dataset in its URN, "" for another URN."""
    return urn.partition(",")[2].rpartition(",")[0]


def list_words(difference: DifferenceRow) -> dict[str, Any]:
    """Return the words of sentences and manual steps."""
    return {
        **difference,
        "role": describe_role(difference),
        "mapping": _render_mapping(difference),
        "undo": "give the grants back in the source" if difference["is_there"] else "rename it in the source",
        "who": describe_principal(difference["grantee"] or "") or find_person(difference["actor"]),
        "there": LEVEL_NAMES.get(difference["level"] or 0, ""),
        "wanted": LEVEL_NAMES.get(difference["wanted"] or 0, ""),
        "object": dotted_name(difference["object"]),
        "place": dotted_name(difference["object"]) or difference["name"] or difference["entity"],
        "datasets": "1 dataset" if difference["count"] == 1 else f"{difference['count'] or 0:,} datasets",
        "via": f" through {describe_principal(difference['via'])}" if difference["via"] else "",
        "rows": "1 row" if difference["count"] == 1 else f"{difference['count'] or 0:,} rows",
        "were": "was" if difference["count"] == 1 else "were",
        "held": f" ({difference['condition']})" if difference["condition"] else "",
        "rule": RULE_LABELS.get(difference["rule"] or "", "").lower(),
    }


def name_grantee(difference: DifferenceRow) -> str | None:
    """Return who has the access, or lacks it: the URN of whom the catalog knows, else the name in the system."""
    if difference["actor"]:
        return difference["actor"] if difference["is_known"] else _name_in_system(difference)
    return difference["role_urn"] or _name_in_system(difference) or None


def _name_in_system(difference: DifferenceRow) -> str:
    return describe_principal(difference["grantee"] or difference["role"] or "") or find_person(difference["actor"])


def describe_absence(difference: DifferenceRow, export: Export | None) -> str | None:
    """Return the evidence of what no row of an export says."""
    words = _ABSENCES.get(DifferenceType(difference["type"]))
    return words.format(files=", ".join(list_patterns(export)) if export else "any export") if words else None


def find_person(urn: str | None) -> str:
    """Return what the URN of a person or group names, "" without one."""
    return find_identifier(urn) if urn else ""


_SENTENCES: Mapping[DifferenceType, str] = {
    DifferenceType.GRANT_MISSING: "The catalog says that {role} opens {place}; the source has no such grant.",
    DifferenceType.EXTRA_GRANT: "{role} has {there} on {place}{held}; the catalog does not say so.",
    DifferenceType.WRONG_LEVEL: "{role} should have {wanted} on {place} and has {there}{via}{held}.",
    DifferenceType.ROLE_GONE: "The source has no role {role}, which the catalog says opens {datasets}.",
    DifferenceType.ROLE_RENAMED: "{role} is called {who} in the source: {count:,} of its {total:,} grants agree.",
    DifferenceType.ROLE_WITHOUT_DATASETS: "{role} opens nothing that the catalog knows.",
    DifferenceType.SENSITIVE_WITHOUT_ROLE: "{place} is sensitive, and no role says how it is reached.",
    DifferenceType.SENSITIVE_OPEN: "{place} is sensitive and has grants, and no policy masks or filters it.",
    DifferenceType.MEMBER_MISSING: "{who} should hold {role} and does not.",
    DifferenceType.EXTRA_MEMBER: "{who} holds {role}{via}{held}; the catalog does not say so.",
    DifferenceType.DIRECT_USER_GRANT: "{who} has {there} on {place}{held} without any role.",
    DifferenceType.PASSED_SENSITIVE: (
        "Sensitive data lies in {place}, and {rows} on it {were} not compared: {rule}{held}."
    ),
    DifferenceType.FUTURE_GRANT: "{who} gets {there} on every table that is made in {place}.",
    DifferenceType.POLICIES_BYPASSED: "No row filter in {place} binds {who}; sensitive there: {datasets}.",
}
#: Sentences of roles that do not get into a container in which they should open something.
_ENTRY_SENTENCE = "{role} does not get into {place}, where the catalog says that it opens {datasets}."
_ENTRY_ROLLUP_SENTENCE = "{role} does not get into {members} containers of datasets that it opens by the catalog."
#: Sentences of access that reaches many datasets, on a container and through a role alone.
_CONTAINER_GRANT_SENTENCE = (
    "{role} has {there}{via} on {place}{held}, which opens {datasets} that the catalog does not name."
)
_ROLE_GRANT_SENTENCE = "{role} has {there}{via}{held}, which opens {datasets} that the catalog does not name."

#: Sentences of several differences of one type about one role, person or schema; of the other types there is one.
_ROLLUP_SENTENCES: Mapping[DifferenceType, str] = {
    DifferenceType.GRANT_MISSING: (
        "The catalog says that {role} opens {members} datasets; the source has none of these grants."
    ),
    DifferenceType.EXTRA_GRANT: "{role} has {members} grants that the catalog does not declare.",
    DifferenceType.WRONG_LEVEL: "{role} has another level than it should have on {members} datasets.",
    DifferenceType.SENSITIVE_WITHOUT_ROLE: (
        "{members} datasets in {schema} are sensitive, and no role says how they are reached."
    ),
    DifferenceType.SENSITIVE_OPEN: (
        "{members} datasets in {schema} are sensitive and have grants, and no policy masks or filters them."
    ),
    DifferenceType.MEMBER_MISSING: "{members} users and groups should hold {role} and do not.",
    DifferenceType.EXTRA_MEMBER: "{members} users and groups hold {role}; the catalog does not say so.",
    DifferenceType.DIRECT_USER_GRANT: "{who} has {members} grants without any role.",
    DifferenceType.PASSED_SENSITIVE: (
        "Sensitive data lies in {members} objects in {schema}, and rows on them were not compared: {rule}."
    ),
    DifferenceType.FUTURE_GRANT: "{who} gets privileges on every table that is made in {members} containers.",
    DifferenceType.POLICIES_BYPASSED: "No row filter in {members} databases binds {who}.",
}

#: The evidence of differences that no row of an export is about.
_ABSENCES: Mapping[DifferenceType, str] = {
    DifferenceType.GRANT_MISSING: "No row of {files} gives it.",
    DifferenceType.ROLE_GONE: "No row of {files} names the role.",
    DifferenceType.ROLE_RENAMED: "The grants of both names in {files} were compared.",
    DifferenceType.ROLE_WITHOUT_DATASETS: "No dataset of the catalog names the role.",
    DifferenceType.SENSITIVE_WITHOUT_ROLE: "The catalog names no role on it.",
    DifferenceType.MEMBER_MISSING: "No row of {files} says that the role is held.",
}

#: What to do where there is no statement for it, or no dialect.
MANUAL_STEPS: Mapping[DifferenceType, str] = {
    DifferenceType.GRANT_MISSING: "Give {role} access to {name}.",
    DifferenceType.EXTRA_GRANT: "Take the access to {object} from {role}.",
    DifferenceType.WRONG_LEVEL: "Give {role} {wanted} on {object} and no more.",
    DifferenceType.ROLE_GONE: "Make the role {role}, or take it off its datasets.",
    DifferenceType.ROLE_RENAMED: "Name it under roles of {export} in exports.json, {mapping}, or {undo}.",
    DifferenceType.ROLE_WITHOUT_DATASETS: "Name {role} on what it opens, or delete it.",
    DifferenceType.SENSITIVE_WITHOUT_ROLE: "Name an external role on {entity}, or take its tag off.",
    DifferenceType.SENSITIVE_OPEN: "Put a mask or a row filter on {name}, or take its tag off.",
    DifferenceType.MEMBER_MISSING: "Give {role} to {who}.",
    DifferenceType.EXTRA_MEMBER: "Take {role} from {grantee}.",
    DifferenceType.DIRECT_USER_GRANT: "Take the access to {object} from {grantee}.",
    DifferenceType.PASSED_SENSITIVE: "See who has access to {object} in this way: the report only counts it.",
    DifferenceType.FUTURE_GRANT: "Take the privileges on future tables in {object} from {who}.",
    DifferenceType.POLICIES_BYPASSED: "See whether {who} has to bypass the row filters in {object}.",
}


def _render_mapping(difference: DifferenceRow) -> str:
    """Return the entry of `roles` in exports.json by which a role of the catalog has its new name."""
    if not difference["new_name"] or not difference["role_urn"]:
        return ""
    principal_type, parts = split_principal(difference["new_name"])
    name = ".".join(parts)
    if principal_type not in ("", *UNWRITTEN_TYPES):
        name = f"{principal_type} {name}"
    return json.dumps({name: find_identifier(difference["role_urn"])}, ensure_ascii=False).strip("{}")
