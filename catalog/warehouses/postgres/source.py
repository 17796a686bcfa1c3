"""The facts about a source that repairs need beside a difference: grantors, members of roles, existing objects."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.sql_text import list_texts, quote_text
from catalog.warehouses.difference_details import list_asked_names
from catalog.warehouses.grant_facts import FactKind, list_privileges, spell
from catalog.warehouses.postgres.privileges import OWNER
from catalog.warehouses.warehouse import Export, ExportCoverage

_REVOKING_TYPES = ("EXTRA_GRANT", "WRONG_LEVEL", "DIRECT_USER_GRANT")


@dataclass(frozen=True, slots=True)
class SourceGrant:
    """A privilege on an object, or on a `column` of it, with who granted it; `grantor` is "" where nothing says so."""

    privilege: str
    grantee: str
    grantor: str
    is_grantable: bool
    column: str = ""


@dataclass(frozen=True, slots=True)
class SourceMembership:
    """A membership: `role` is held by `member`, who got it from `grantor`, "" where nothing says so.

    `is_chained`: it ends with the membership of its grantor, as since PostgreSQL 16. `is_admin`: he may pass it on.
    """

    role: str
    member: str
    grantor: str
    is_chained: bool = False
    is_admin: bool = False


@dataclass(frozen=True, slots=True)
class PostgresSource:
    """The known facts of a source.

    - `is_complete`: an object that is not among `relations` (type by key) does not exist.
    - `grants`: all of those on the objects on which some are not the owner's, or may be passed on.
    - `owners`: the owners of these objects. `revoked`: the privileges that differences take, by object and grantee.
    - `memberships`: of roles in roles, and of members whom differences take roles from, or who got them from these.
      `taken_roles`: pairs of holder and role which differences take apart; `taken_members`: pairs of member and role.
    - `free_roles`: the roles on which nothing depends, in any database.
    - `open_containers`: whether everybody gets into a schema or database, by its key; `hides_entries`: the export does
      not say who does.
    """

    is_complete: bool = False
    relations: Mapping[str, str] = field(default_factory=dict)
    grants: Mapping[str, Sequence[SourceGrant]] = field(default_factory=dict)
    owners: Mapping[str, str] = field(default_factory=dict)
    revoked: Mapping[tuple[str, str], frozenset[str]] = field(default_factory=dict)
    memberships: Sequence[SourceMembership] = ()
    taken_roles: frozenset[tuple[str, str]] = frozenset()
    taken_members: frozenset[tuple[str, str]] = frozenset()
    free_roles: frozenset[str] = frozenset()
    open_containers: Mapping[str, bool] = field(default_factory=dict)
    hides_entries: bool = False

    def is_revoked(self, path: str, grant: SourceGrant) -> bool:
        """Whether a difference takes a grant, or takes what its grantor had to give."""
        return grant.privilege in self.revoked.get((path, grant.grantee), ())

    def list_grants(self, path: str, grantee: str, privilege: str) -> list[SourceGrant]:
        """Return the grants of a privilege on an object as a whole."""
        return [
            grant
            for grant in self.grants.get(path, ())
            if (grant.grantee, grant.privilege, grant.column) == (grantee, privilege, "")
        ]

    def list_dependents(self, path: str, grantee: str, privilege: str) -> list[SourceGrant]:
        """Return the grants that a grantee has passed on, and those that were passed on from these."""
        dependents: list[SourceGrant] = []
        givers, grantees = [grantee], {grantee}
        while givers:
            giver = givers.pop()
            for grant in self.grants.get(path, ()):
                if grant.grantor == giver and grant.privilege == privilege and grant.grantee not in grantees:
                    dependents.append(grant)
                    grantees.add(grant.grantee)
                    givers.append(grant.grantee)
        return dependents

    def list_hops(self, holder: str, role: str) -> list[str]:
        """Return the roles of a holder through which it has another role, that role itself being one of them."""
        roles_of: dict[str, set[str]] = defaultdict(set)
        for membership in self.memberships:
            roles_of[membership.member].add(membership.role)
        return sorted(hop for hop in roles_of[holder] if hop == role or role in _list_reachable(roles_of, hop))


def _list_reachable(roles_of: Mapping[str, set[str]], start: str) -> set[str]:
    reachable, waiting = {start}, [start]
    while waiting:
        for role in roles_of.get(waiting.pop(), ()):
            if role not in reachable:
                reachable.add(role)
                waiting.append(role)
    return reachable


def read_source(export: Export, facts: DataFrame, differences: DataFrame, coverage: ExportCoverage) -> PostgresSource:
    """Return what the facts of an export say of the source, as far as its differences ask."""
    is_mine = f"export = {quote_text(export.name)}"
    facts, differences = facts.filter(is_mine), differences.filter(is_mine)
    columns = ("type", "object", "grantee", "coalesce(via, '') AS via", "bits", "wanted")
    taken_rows = differences.filter(f"type IN {list_texts((*_REVOKING_TYPES, 'EXTRA_MEMBER'))}").selectExpr(*columns)
    revoked: dict[tuple[str, str], frozenset[str]] = {}
    taken_roles, taken_members = set(), set()
    for row in taken_rows.collect():
        if row["type"] == "EXTRA_MEMBER":
            taken_members.add((row["grantee"], row["via"] or row["object"]))
        elif row["via"]:
            taken_roles.add((row["grantee"], row["via"]))
        elif row["bits"] and row["object"]:
            # Of a wrong level, what is beyond the right one is taken.
            privileges = list_privileges(export, row["bits"])
            excess = frozenset(name for name in privileges if export.vocabulary[name] > (row["wanted"] or 0))
            revoked[row["object"], row["grantee"]] = excess
    grants, owners = _read_grants(export, facts, differences)
    return PostgresSource(
        is_complete=coverage.is_complete,
        relations=_read_relations(export, facts, differences),
        grants=grants,
        owners=owners,
        revoked=revoked,
        memberships=list(_read_memberships(facts, differences)),
        taken_roles=frozenset(taken_roles),
        taken_members=frozenset(taken_members),
        open_containers=_read_open_containers(facts),
        hides_entries=bool(coverage.listing_layouts) and not coverage.is_complete,
        free_roles=_read_free_roles(facts, differences) if coverage.is_complete else frozenset(),
    )


def _find_bit(export: Export, privilege: str) -> int:
    return 1 << list(export.vocabulary).index(privilege)


def _read_grants(
    export: Export, facts: DataFrame, differences: DataFrame
) -> tuple[dict[str, list[SourceGrant]], dict[str, str]]:
    """Return the grants on objects on which some are odd, and the owners of these, by the object."""
    objects = differences.filter(f"type IN {list_texts(_REVOKING_TYPES)} AND object IS NOT NULL").selectExpr("object")
    rows = facts.filter(f"what = '{FactKind.GRANT}' AND NOT is_container").join(
        objects.distinct(), "object", "left_semi"
    )
    owner_bit = _find_bit(export, OWNER)
    owners = rows.filter(f"bit = {owner_bit}").groupBy("object").agg(f.expr("min(grantee) AS owner_name"))
    fields = "struct<privilege: string, grantor: string, owner: string, is_grantable: boolean, column: string>"
    rows = rows.filter(f"bit <> {owner_bit}").withColumn("said", f.expr(f"from_json(details, '{fields}')"))
    rows = rows.join(owners, "object", "left").withColumn("owner_name", f.expr("coalesce(said.owner, owner_name)"))
    is_odd = "said.is_grantable OR said.grantor <> owner_name"
    odd_objects = rows.filter(is_odd).selectExpr("object").distinct()
    values = ("object", "grantee", "bit", "owner_name", "said.grantor", "said.is_grantable", "said.column")
    known_rows = rows.join(odd_objects, "object", "left_semi").selectExpr(*values, "said.privilege")
    grants: dict[str, list[SourceGrant]] = defaultdict(list)
    owner_names: dict[str, str] = {}
    for row in known_rows.collect():
        owner = row["owner_name"] or ""
        owner_names[row["object"]] = owner
        (privilege,) = list_privileges(export, row["bit"])
        grants[row["object"]].append(
            SourceGrant(
                row["privilege"] or privilege,
                row["grantee"],
                row["grantor"] or owner,
                bool(row["is_grantable"]),
                row["column"] or "",
            )
        )
    return grants, owner_names


def _read_relations(export: Export, facts: DataFrame, differences: DataFrame) -> dict[str, str]:
    """Return the types of the relations on which grants are missing, by the key of each."""
    keys = list_asked_names(differences).selectExpr(f"{spell(export, 'name')} AS object_key").distinct()
    rows = facts.filter(f"what = '{FactKind.GRANT}' AND bit = {_find_bit(export, OWNER)}")
    rows = rows.join(keys, "object_key", "left_semi").selectExpr("object_key", "object_type").distinct()
    return {row["object_key"]: row["object_type"] for row in rows.collect()}


def _read_memberships(facts: DataFrame, differences: DataFrame) -> Iterator[SourceMembership]:
    members = differences.filter("type = 'EXTRA_MEMBER'").selectExpr("grantee AS member_name").distinct()
    fields = "from_json(details, 'grantor string, is_chained boolean, is_admin boolean')"
    rows = facts.filter(f"what IN ('{FactKind.MEMBER}', '{FactKind.INHERIT}')").selectExpr(
        "what",
        "object",
        "grantee",
        f"{fields}.grantor AS grantor",
        *(f"coalesce({fields}.{name}, false) AS {name}" for name in ("is_chained", "is_admin")),
    )
    is_asked = f"what = '{FactKind.INHERIT}' OR grantee = member_name OR grantor = member_name"
    rows = rows.join(members, f.expr("grantee = member_name OR grantor = member_name"), "left").filter(is_asked)
    for row in rows.selectExpr("object", "grantee", "grantor", "is_chained", "is_admin").distinct().collect():
        yield SourceMembership(row["object"], row["grantee"], row["grantor"] or "", row["is_chained"], row["is_admin"])


def _read_open_containers(facts: DataFrame) -> dict[str, bool]:
    rows = facts.filter(f"what = '{FactKind.ENTRY}'").groupBy("object_key")
    return {
        row["object_key"]: row["is_open"] for row in rows.agg(f.expr("max(grantee = 'public') AS is_open")).collect()
    }


def _read_free_roles(facts: DataFrame, differences: DataFrame) -> frozenset[str]:
    idle = differences.filter("type = 'ROLE_WITHOUT_DATASETS'").selectExpr("grantee AS object").distinct()
    rows = facts.filter(f"what = '{FactKind.ROLE}'").join(idle, "object", "left_semi")
    rows = rows.filter("from_json(details, 'dependency_count bigint').dependency_count = 0")
    held_roles = facts.filter(f"what IN ('{FactKind.MEMBER}', '{FactKind.INHERIT}')").selectExpr("object")
    return frozenset(
        row["object"] for row in rows.join(held_roles, "object", "left_anti").selectExpr("object").collect()
    )
