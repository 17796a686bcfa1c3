"""Rows of differences between the catalog and a source."""

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

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
#: a JSON list of the details of the facts that make the difference, for the dialect of repairs, `places` the numbers of
#: the places of these (`blocks.LineNumbers`), one more than are shown. `is_known`: the catalog has the `actor`.
#: `datasets` are URNs of what is reached, one a line, the sensitive ones first.
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
    "places": "string",
    "is_known": "boolean",
    "datasets": "string",
}

ROLE_COLUMNS = ["export", "role"]

#: Writes an intermediate table under a name and returns it, so that it is computed once and plans of joins stay small.
Stage = Callable[[str, DataFrame], DataFrame]


def select_difference_columns(rows: DataFrame, **columns: str) -> DataFrame:
    """Return rows with DIFFERENCE_COLUMNS, given as expressions of SQL; columns without an argument are null."""
    return select_columns(rows, DIFFERENCE_COLUMNS, columns)


def render_names(differences: pa.Table) -> pa.Table:
    """Return differences with names as people write them, for readers outside of this program.

    The numbers of places say nothing to them.
    """
    differences = differences.drop_columns(["places"])
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

#: Places that a finding names of one difference, and datasets.
MAX_PLACES, MAX_DATASETS = 5, 100
#: The first places of the facts that make a difference, as aggregates: of rows with a `place`, and with `places`.
FIRST_PLACES = f"slice(array_sort(collect_set(place)), 1, {MAX_PLACES + 1})"
PLACES = f"{FIRST_PLACES} AS places"
ALL_PLACES = f"slice(array_sort(array_distinct(flatten(collect_set(places)))), 1, {MAX_PLACES + 1}) AS places"
#: `places` of a difference of such rows; of access through a role, first that of the row by which this is held.
JOINED_PLACES = "array_join(places, ' ')"
_HOP_FIRST = "concat_ws(' ', {0}, array_join(array_except(places, array({0})), ' '))"
HOP_FIRST, HIGHEST_HOP_FIRST = _HOP_FIRST.format("hop"), _HOP_FIRST.format("highest_hop")
#: The first datasets of rows of `rank_datasets`, as an aggregate.
DATASETS = f"""array_join(transform(
    array_sort(collect_set(CASE WHEN dataset_rank <= {MAX_DATASETS} THEN struct(dataset_rank, dataset_urn) END)),
    dataset -> dataset.dataset_urn), '\n') AS datasets"""


def rank_datasets(rows: DataFrame, keys: Sequence[str], urn: str) -> DataFrame:
    """Return rows, of which each is about a dataset, in order for DATASETS: those with the same keys together.

    Rows have `is_sensitive` and `name`, the name of the dataset; `keys` and `urn` are expressions of SQL.
    """
    order = f"PARTITION BY {', '.join(keys)} ORDER BY is_sensitive DESC, name, {urn}"
    return rows.withColumns({"dataset_rank": f.expr(f"dense_rank() OVER ({order})"), "dataset_urn": f.expr(urn)})


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
