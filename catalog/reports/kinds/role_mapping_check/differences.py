"""Rows of differences between the catalog and a source."""

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from catalog.sql_text import list_texts, quote_text
from catalog.warehouses.grant_facts import SEPARATOR, select_columns
from catalog.warehouses.levels import OWNERSHIPS
from catalog.warehouses.warehouse import Export


class DifferenceType(StrEnum):
    """The types of differences."""

    GRANT_MISSING = "GRANT_MISSING"
    EXTRA_GRANT = "EXTRA_GRANT"
    WRONG_LEVEL = "WRONG_LEVEL"
    ROLE_GONE = "ROLE_GONE"
    ROLE_RENAMED = "ROLE_RENAMED"
    ROLE_WITHOUT_DATASETS = "ROLE_WITHOUT_DATASETS"
    SENSITIVE_WITHOUT_ROLE = "SENSITIVE_WITHOUT_ROLE"
    SENSITIVE_OPEN = "SENSITIVE_OPEN"
    MEMBER_MISSING = "MEMBER_MISSING"
    EXTRA_MEMBER = "EXTRA_MEMBER"
    DIRECT_USER_GRANT = "DIRECT_USER_GRANT"
    PASSED_SENSITIVE = "PASSED_SENSITIVE"
    FUTURE_GRANT = "FUTURE_GRANT"
    POLICIES_BYPASSED = "POLICIES_BYPASSED"


class DifferenceSeverity(StrEnum):
    """Severities, the highest first: unintended access ranks above missing access."""

    CRITICAL = "CRITICAL"
    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


#: Columns of a difference. `object` is the name in the source (parts joined by SEPARATOR), `object_type` its type in
#: SQL, null for the usual one, `condition` what the grant depends on, `name` the name in the catalog; `via` the role
#: through which access is inherited, '' for direct access; `bits` and `level` the actual access, `wanted` the declared
#: level; `count` the number of datasets, or of rows that a `rule` passed. Of a renamed role, `new_name` is its name in
#: the source, `count` of `total` grants agree, and `is_there`: the source has a role of the old name, too. `details` is
#: a JSON list of the details of the facts that make the difference, for the dialect of repairs.
DIFFERENCE_COLUMNS = {
    "type": "string",
    "severity": "string",
    "export": "string",
    "role": "string",
    "role_urn": "string",
    "entity": "string",
    "actor": "string",
    "kind": "string",
    "grantee": "string",
    "object": "string",
    "object_type": "string",
    "condition": "string",
    "name": "string",
    "via": "string",
    "bits": "bigint",
    "level": "int",
    "wanted": "int",
    "count": "bigint",
    "rule": "string",
    "new_name": "string",
    "total": "bigint",
    "is_there": "boolean",
    "details": "string",
}

ROLE_COLUMNS = ["export", "role"]

#: Writes an intermediate table under a name and returns it, so that it is computed once and plans of joins stay small.
Stage = Callable[[str, DataFrame], DataFrame]

#: Grantees that stand for everybody in one of the sources.
EVERYBODY_NAMES = ("PUBLIC", "allUsers", "allAuthenticatedUsers", "account users")


def select_difference_columns(rows: DataFrame, **columns: str) -> DataFrame:
    """Return rows with DIFFERENCE_COLUMNS, given as expressions of SQL; columns without an argument are null."""
    return select_columns(rows, DIFFERENCE_COLUMNS, columns)


def render_names(differences: pa.Table) -> pa.Table:
    """Return differences with names as people write them, for readers outside of this program."""
    for name in ("role", "grantee", "object", "via"):
        texts = pc.replace_substring(differences.column(name), SEPARATOR, ".")
        differences = differences.set_column(differences.column_names.index(name), name, texts)
    return differences


def excess_severity(is_sensitive: str) -> str:
    """Return the severity of access beyond the declared one, as an expression of SQL."""
    return f"CASE WHEN {is_sensitive} THEN '{DifferenceSeverity.CRITICAL}' ELSE '{DifferenceSeverity.HIGH}' END"


def same_named_columns(*names: str) -> dict[str, str]:
    """Return arguments for `select_difference_columns` of columns that have the same name in the rows."""
    return {name: name for name in names}


def is_partial(exports: Sequence[Export]) -> str:
    """Return a condition: the privilege `bit` of a row reaches a part of a table."""
    return _is_privilege(exports, lambda export: export.warehouse.partial_privileges)


def is_ownership(exports: Sequence[Export]) -> str:
    """Return a condition: the privilege `bit` of a row is that of an owner."""
    return _is_privilege(exports, lambda _: OWNERSHIPS)


def is_unguarded(exports: Sequence[Export]) -> str:
    """Return a condition: the privilege `bit` of a row holds wherever its grantee gets in."""
    return _is_privilege(exports, lambda export: export.warehouse.unguarded_privileges)


def _is_privilege(exports: Sequence[Export], names: Callable[[Export], Iterable[str]]) -> str:
    conditions = ["false"]
    for export in exports:
        chosen = set(names(export))
        bits = [str(1 << index) for index, name in enumerate(export.vocabulary) if name in chosen]
        if bits:
            conditions.append(f"export = {quote_text(export.name)} AND bit IN ({', '.join(bits)})")
    return f"({' OR '.join(conditions)})"


#: The details of the facts that make a difference, as an aggregate.
DETAILS = "to_json(collect_set(details)) AS details"


def is_ignored_person(exports: Sequence[Export], key: str) -> str:
    """Return a condition: a person of such a key is one of the `ignored_roles` of the export of a row."""
    conditions = ["false"]
    for export in exports:
        # Findings call a person by the kind, too, where the system does.
        spellings = {text for name in export.ignored_roles for text in (name, name.removeprefix("user:"))}
        names = [key for name in sorted(spellings) for key in (export.normalize(name), f'"{name}"')]
        if names:
            conditions.append(f"export = {quote_text(export.name)} AND {key} IN {list_texts(names)}")
    return f"({' OR '.join(conditions)})"


def is_usual_holder(exports: Sequence[Export]) -> str:
    """Return a condition: the grantee of a row is one of the `usual_holders` of its export."""
    conditions = ["false"]
    for export in exports:
        if kinds := export.warehouse.usual_holders:
            is_mine = f"export = {quote_text(export.name)}"
            conditions.append(f"{is_mine} AND substring_index(grantee, ':', 1) IN {list_texts(kinds)}")
    return f"({' OR '.join(conditions)})"


def is_named_role(exports: Sequence[Export], names: Callable[[Export], Iterable[str]]) -> str:
    """Return a condition: the role of a row is one of `names`, which are names in its export."""
    conditions = ["false"]
    for export in exports:
        identifiers = [
            identifier for name in names(export) for identifier in (export.role_identifier(name), name.lower())
        ]
        if identifiers:
            conditions.append(f"export = {quote_text(export.name)} AND role IN {list_texts(identifiers)}")
    return f"({' OR '.join(conditions)})"
