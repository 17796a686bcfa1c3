"""Uses that the catalog does not declare: of datasets that name roles, by people who hold none of these."""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.declared import DeclaredAccess
from catalog.reports.kinds.warehouse_usage.attribution import select_judged_uses
from catalog.sql_text import quote_text
from catalog.warehouses.grant_facts import SEPARATOR, Grantee
from catalog.warehouses.warehouse import Export

#: Beginning of the `person_key` of a program: the role as which it acts follows.
_PROGRAM_MARK = quote_text(SEPARATOR)


def find_undeclared_uses(uses: DataFrame, declared_access: DeclaredAccess, exports: Sequence[Export]) -> DataFrame:
    """Return (export, number, person_key, person, role_key, last, place, entity, name, is_sensitive) of each pair.

    Programs, those of the system and those with an account, have the role as which they act. Tables that a statement
    reads only through a view, and uses of ignored roles, are left out.
    """
    declared_people = declared_access.role_datasets.join(
        declared_access.members.get_result().allowed.filter(f"kind = '{Grantee.USER}'"), ["export", "role"]
    ).selectExpr("export", "number", "member_key AS person_key")
    described = declared_access.role_datasets.selectExpr("export", "number").distinct()
    own_uses = select_judged_uses(uses.filter("is_direct"), exports)
    own_uses = own_uses.join(described, ["export", "number"], "left_semi")
    declared_roles = declared_access.role_datasets.selectExpr("export", "number", "role AS role_key")
    is_acting = "acts_as_role AND role_key <> ''"
    own_uses = own_uses.join(declared_people, ["export", "number", "person_key"], "left_anti")
    people = own_uses.filter(f"person_key <> '' AND NOT ({is_acting})")
    # A program of the system acts as its role, and without one there is nobody to speak of.
    programs = own_uses.filter(is_acting)
    # A service principal, an account of a program or a recipient is granted access like a role itself.
    is_own = "contains(role_key, lower(person))"
    programs = programs.join(declared_roles, ["export", "number", "role_key"], "left_anti")
    program_columns = {
        "person": f"CASE WHEN {is_own} THEN person ELSE concat(person, ' as ', role_key) END",
        "person_key": f"concat({_PROGRAM_MARK}, role_key)",
    }
    programs = programs.withColumns({name: f.expr(text) for name, text in program_columns.items()})
    last_place = "max_by(place, struct(last, place)) AS place"
    pairs = people.union(programs.selectExpr(*people.columns))
    pairs = pairs.groupBy("export", "number", "person_key").agg(
        *map(f.expr, ("min(person) AS person", "max(role_key) AS role_key", "max(last) AS last", last_place))
    )
    dataset = declared_access.datasets.selectExpr("export", "number", "urn AS entity", "name", "is_sensitive")
    return pairs.join(dataset, ["export", "number"])
