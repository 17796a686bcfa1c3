"""The facts about a source that repairs need beside a difference: its schemas, and whether it names owners."""

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.sql_text import quote_text
from catalog.warehouses.grant_facts import FactKind
from catalog.warehouses.redshift.layouts import EXTERNAL_SCHEMA
from catalog.warehouses.redshift.privileges import OWNER, USAGE
from catalog.warehouses.warehouse import Export


@dataclass(frozen=True, slots=True)
class RedshiftSource:
    """The known facts of a source: its `external` schemas and those that everybody gets into, by their keys.

    `hides_entries`: nothing says who gets in. `hides_owners`: nothing says who owns tables.
    """

    external: frozenset[str] = frozenset()
    open_schemas: frozenset[str] = frozenset()
    hides_entries: bool = False
    hides_owners: bool = False


def read_source(export: Export, facts: DataFrame) -> RedshiftSource:
    """Return what the facts of an export say of the source."""
    usage, owner = (1 << list(export.vocabulary).index(name) for name in (USAGE, OWNER))
    kind = f"""CASE WHEN what = '{FactKind.ENTRY}' THEN 'ENTRY'
        WHEN object_type = '{EXTERNAL_SCHEMA}' OR (what = '{FactKind.GRANT}' AND bit = {usage}) THEN 'EXTERNAL'
        WHEN what = '{FactKind.GRANT}' AND bit = {owner} AND NOT is_container THEN 'OWNER' END"""
    rows = facts.filter(f"export = {quote_text(export.name)}").withColumn("about", f.expr(kind))
    # Nearly all facts of owners are alike here.
    key = f.expr("CASE WHEN about <> 'OWNER' THEN object_key ELSE '' END AS schema_key")
    rows = rows.filter("about IS NOT NULL").groupBy("about", key).agg(f.expr("max(grantee = 'public') AS is_open"))
    schema_rows = [(row["about"], row["schema_key"], row["is_open"]) for row in rows.collect()]
    kinds = {about for about, _, _ in schema_rows}
    return RedshiftSource(
        external=frozenset(name for about, name, _ in schema_rows if about == "EXTERNAL"),
        open_schemas=frozenset(name for about, name, is_open in schema_rows if about == "ENTRY" and is_open),
        hides_entries="ENTRY" not in kinds,
        hides_owners="OWNER" not in kinds,
    )
