"""The facts about an account that repairs need beside a difference."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.sql_text import list_texts, quote_text
from catalog.warehouses.difference_details import read_entered, read_objects
from catalog.warehouses.grant_facts import FactKind, list_privileges
from catalog.warehouses.snowflake.layouts import SCHEMA_LAYOUTS
from catalog.warehouses.snowflake.privileges import IMPORTED
from catalog.warehouses.warehouse import Export

_REVOKING_TYPES = ("EXTRA_GRANT", "WRONG_LEVEL", "DIRECT_USER_GRANT")


@dataclass(frozen=True, slots=True)
class PassedGrant:
    """A privilege that `grantee` has from `grantor`, who is no administrator and passed it on."""

    privilege: str
    grantee: str
    kind: str
    grantor: str


@dataclass(frozen=True, slots=True)
class SnowflakeSource:
    """The known facts of an account.

    `entered` are the containers of which the export says who gets in, `objects` the names and types of objects by their
    keys, `imported` the databases that were made from shares, `managed` the owners of schemas with managed access by
    the schemas. `passed` are the grants by object that somebody passed on, `revoked` the privileges that differences
    take, by object and grantee.
    """

    entered: frozenset[str] = frozenset()
    objects: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    imported: frozenset[str] = frozenset()
    managed: Mapping[str, str] = field(default_factory=dict)
    passed: Mapping[str, Sequence[PassedGrant]] = field(default_factory=dict)
    revoked: Mapping[tuple[str, str], frozenset[str]] = field(default_factory=dict)

    def is_revoked(self, path: str, grantee: str, privilege: str) -> bool:
        """Whether a difference takes a privilege."""
        return privilege in self.revoked.get((path, grantee), ())

    def list_dependents(self, path: str, grantee: str, privilege: str) -> list[PassedGrant]:
        """Return the grants that a grantee has passed on, and those that were passed on from these."""
        dependents: list[PassedGrant] = []
        givers, grantees = [grantee], {grantee}
        while givers:
            giver = givers.pop()
            for grant in self.passed.get(path, ()):
                if grant.grantor == giver and grant.privilege == privilege and grant.grantee not in grantees:
                    dependents.append(grant)
                    grantees.add(grant.grantee)
                    givers.append(grant.grantee)
        return dependents


def read_source(export: Export, facts: DataFrame, differences: DataFrame) -> SnowflakeSource:
    """Return what the facts of an export say of the account, as far as its differences ask."""
    is_mine = f"export = {quote_text(export.name)}"
    facts, differences = facts.filter(is_mine), differences.filter(is_mine)
    grants = facts.filter(f"what = '{FactKind.GRANT}'")
    # A plain export with this dialect has privileges of its own.
    imported_bits = [str(1 << index) for index, name in enumerate(export.vocabulary) if name == IMPORTED]
    is_imported = f"bit IN ({', '.join(imported_bits)})" if imported_bits else "false"
    imported = grants.filter(is_imported).selectExpr("object").distinct().collect()
    revoking_differences = differences.filter(
        f"type IN {list_texts(_REVOKING_TYPES)} AND object IS NOT NULL AND bits IS NOT NULL"
    )
    revoking_rows = (
        revoking_differences.filter("coalesce(via, '') = ''").selectExpr("object", "grantee", "bits").collect()
    )
    passed: dict[str, list[PassedGrant]] = defaultdict(list)
    said_grants = grants.filter("details IS NOT NULL").join(
        revoking_differences.select("object").distinct(), "object", "left_semi"
    )
    grantor = f.expr("from_json(details, 'grantor string').grantor")
    for row in said_grants.withColumn("grantor", grantor).selectExpr(*_PASSED_COLUMNS).collect():
        (privilege,) = list_privileges(export, row["bit"])
        passed[row["object"]].append(PassedGrant(privilege, row["grantee"], row["kind"], row["grantor"] or ""))
    return SnowflakeSource(
        entered=read_entered(export, facts),
        objects=read_objects(export, facts, differences),
        imported=frozenset(row["object"] for row in imported),
        managed=_read_managed(facts),
        passed=passed,
        revoked={
            (row["object"], row["grantee"]): frozenset(list_privileges(export, row["bits"])) for row in revoking_rows
        },
    )


_PASSED_COLUMNS = ("object", "bit", "grantee", "kind", "grantor")


def _read_managed(facts: DataFrame) -> dict[str, str]:
    schema_fields = "from_json(details, 'is_managed boolean, owner string')"
    rows = facts.filter(f"layout IN {list_texts(SCHEMA_LAYOUTS)} AND what = '{FactKind.ENTRY}'")
    rows = rows.selectExpr("object", f"{schema_fields} AS said").filter("said.is_managed")
    return {row["object"]: row["said"]["owner"] for row in rows.collect()}
