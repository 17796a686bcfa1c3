"""Uses that the catalog does not declare: of datasets that name roles, by people who hold none of these."""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.declared import DeclaredAccess
from catalog.reports.kinds.warehouse_usage.attribution import select_judged_uses
from catalog.warehouses.grant_facts import Grantee
from catalog.warehouses.warehouse import Export


def find_undeclared_uses(uses: DataFrame, declared_access: DeclaredAccess, exports: Sequence[Export]) -> DataFrame:
    """Return (export, number, person_key, person, role_key, last, entity, name, is_sensitive), one row for each pair.

    Tables that a statement reads only through a view, and uses of ignored roles, are left out.
    """
    declared_people = declared_access.role_datasets.join(
        declared_access.members.get_result().allowed.filter(f"kind = '{Grantee.USER}'"), ["export", "role"]
    ).selectExpr("export", "number", "member_key AS person_key")
    described = declared_access.role_datasets.selectExpr("export", "number").distinct()
    own_uses = select_judged_uses(uses.filter("is_direct"), exports)
    own_uses = own_uses.join(described, ["export", "number"], "left_semi")
    pairs = own_uses.join(declared_people, ["export", "number", "person_key"], "left_anti")
    pairs = pairs.groupBy("export", "number", "person_key").agg(
        *map(f.expr, ("min(person) AS person", "max(role_key) AS role_key", "max(last) AS last"))
    )
    dataset = declared_access.datasets.selectExpr("export", "number", "urn AS entity", "name", "is_sensitive")
    return pairs.join(dataset, ["export", "number"])
