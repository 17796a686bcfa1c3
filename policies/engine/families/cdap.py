"""CDAP: operations that need privileges on an entity and its parent, and privileges granted per entity.

Rules: `rules/cdap.md` CD-1 to CD-102; the table is `tables/cdap_operations.toml`. There are no policy documents here:
the host stores the grants and passes them to the engine as statements.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cache
from types import MappingProxyType
from typing import Any

from policies.engine.errors import UnknownOperation
from policies.engine.families import cdap_entity_ids, vocabulary
from policies.engine.model import Effect as StatementEffect
from policies.engine.model import Statement, StatementOrigin
from policies.engine.requirements import SELF, Need, Requirement
from policies.engine.selectors import EVERYONE, EVERYTHING, URN, ActorMatch, Condition, Criterion, Selector

NAME = "cdap"

#: Facet with all ancestors of a CDAP entity, from its parent up to the instance.
WITHIN = "WITHIN"
#: Facet with the artifact or application whose URN was written with a version (CD-20).
VERSION_OF = "VERSION_OF"

#: In display order of grants (api.md section 2).
PRIVILEGES = ("READ", "WRITE", "EXECUTE", "ADMIN")
READ, WRITE, EXECUTE, ADMIN = PRIVILEGES
_GRANTABLE = frozenset(PRIVILEGES)
#: Stands for the four (CD-2); it is not a privilege itself.
ALL = "ALL"
#: Any one of these suffices to list an entity; EXECUTE alone does not (CD-12).
LISTING_PRIVILEGES = (READ, WRITE, ADMIN)

#: The policy URN of grants in reasons.
GRANTS_POLICY_URN = "urn:li:dataHubPolicy:__grants"
#: That of grants which changes concern, in a comparison of before and after.
CHANGED_GRANTS_URN = "urn:li:dataHubPolicy:__changed_grants"
#: The implicit permission of everyone to ask for a list. The entries are filtered (CD-12, CD-13).
LISTS_ORIGIN = StatementOrigin("urn:li:dataHubPolicy:__cdap_lists", "Lists")
LIST_PRIVILEGE = "cdap:list"

PARENT, ARTIFACT = "parent", "artifact"


class OperationEffect(StrEnum):
    """The effect on the catalog of applying an operation, if it does more than check."""

    CREATE = "create"
    DELETE = "delete"
    LIST = "list"
    DELETE_ALL = "delete_all"


@dataclass(frozen=True, slots=True)
class CdapOperation:
    """One operation on one kind of entity: the rule it comes from, its needs, and its effect."""

    name: str
    kind: str
    rule: str
    needs: tuple[Need, ...]
    optional: frozenset[str]
    effect: OperationEffect | None

    @property
    def is_about_many(self) -> bool:
        """Whether the question names a container, and its needs are evaluated on each entity in it."""
        return self.effect in (OperationEffect.LIST, OperationEffect.DELETE_ALL)


@dataclass(frozen=True, slots=True)
class ResultingGrant:
    """A grant that a create gives: ALL on the created entity, to its creator (CD-15, CD-16)."""

    principal: str
    entity: str
    privileges: tuple[str, ...] = PRIVILEGES


def get_operation(name: str) -> CdapOperation:
    """Return the operation `<kind>.<operation>`: the row of the table, else the core rule (CD-6).

    Raises UnknownOperation.
    """
    row = _load_operations().get(name)
    if row is not None:
        return row
    kind, _, verb = name.partition(".")
    core_rule = _load_core_rules().get(verb)
    if core_rule is None or not cdap_entity_ids.is_kind(kind):
        raise UnknownOperation(name)
    return _parse_operation({**core_rule, "kind": kind})


def get_requirement(name: str, relatives: Collection[str] = (), *, is_on_container: bool = False) -> Requirement:
    """Return the requirement of an operation for a question with these relatives; all needs must hold (CD-7).

    With `is_on_container` a list or delete_all names a container: the question itself needs no grant, and the entities
    in it are decided one by one. Raises UnknownOperation.
    """
    operation = get_operation(name)
    needs = tuple(need for need in operation.needs if need.relative not in operation.optional - frozenset(relatives))
    if operation.is_about_many and (is_on_container or not needs):
        needs = (Need((LIST_PRIVILEGE,)),)
    return Requirement((needs,))


def expand(privileges: Iterable[str]) -> tuple[str, ...]:
    """Return privileges in display order, each once; ALL stands for the four (CD-2). Unknown ones are left out."""
    requested_privileges = frozenset(privileges)
    return tuple(
        privilege for privilege in PRIVILEGES if privilege in requested_privileges or ALL in requested_privileges
    )


def build_grant(
    holder: str, privileges: Iterable[str], urn: str, source: str, ends: datetime | None = None
) -> Statement:
    """Return a grant as a statement: an allow for one holder on one entity, with its end if it has one.

    `source` is the URN on which it was granted: the entity's, a pattern's, or that of an entity that contains it.
    """
    return Statement(
        origin=StatementOrigin(GRANTS_POLICY_URN, "Grant" if source == urn else f"Grant on {source}"),
        effect=StatementEffect.ALLOW,
        actors=ActorMatch(frozenset((holder,))),
        privileges=frozenset(privileges),
        resources=Selector((Criterion(URN, Condition.EQUALS, frozenset((urn,))),), needs_resource=True),
        ends=ends,
    )


def build_reaching_grants(
    privileges_by_grant: Mapping[tuple[str, str], Iterable[str]], *, is_inherited: bool, policy: str = GRANTS_POLICY_URN
) -> tuple[Statement, ...]:
    """Return grants as statements that cover all they reach; they are privileges by (holder, URN or pattern)."""
    values_by_condition: dict[Condition, dict[tuple[str, str], set[str]]] = {
        Condition.EQUALS: defaultdict(set),
        Condition.STARTS_WITH: defaultdict(set),
    }
    for (holder, source), privileges in privileges_by_grant.items():
        pattern = cdap_entity_ids.parse_pattern(source)
        condition = Condition.EQUALS if pattern is None else Condition.STARTS_WITH
        for privilege in privileges:
            values_by_condition[condition][holder, privilege].add(source if pattern is None else pattern.prefix)
    return tuple(
        Statement(
            origin=StatementOrigin(policy, "Grant"),
            effect=StatementEffect.ALLOW,
            actors=ActorMatch(frozenset((holder,))),
            privileges=frozenset((privilege,)),
            resources=Selector((Criterion(field, condition, frozenset(values)),), needs_resource=True),
        )
        for field, condition in grant_reach(is_inherited=is_inherited)
        for (holder, privilege), values in sorted(values_by_condition[condition].items())
    )


def grant_reach(*, is_inherited: bool) -> tuple[tuple[str, Condition], ...]:
    """Return the facets by which a grant reaches entities, with the condition on their values (CD-4, CD-5, CD-20).

    A value that equals the granted entity is reached, and one that begins with the prefix of a granted pattern.
    """
    fields = ((URN, Condition.EQUALS), (VERSION_OF, Condition.EQUALS), (URN, Condition.STARTS_WITH))
    return (*fields, (WITHIN, Condition.EQUALS), (WITHIN, Condition.STARTS_WITH)) if is_inherited else fields


def is_granted(privileges: Iterable[str]) -> bool:
    """Whether grants can give one of these privileges."""
    return not _GRANTABLE.isdisjoint(privileges)


def implicit_policies() -> tuple[tuple[str, tuple[Statement, ...]], ...]:
    """Return the policies in force without being stored: everyone may ask for lists."""
    everyone = ActorMatch(frozenset((EVERYONE,)))
    statement = Statement(LISTS_ORIGIN, StatementEffect.ALLOW, everyone, frozenset((LIST_PRIVILEGE,)), EVERYTHING)
    return ((LISTS_ORIGIN.policy, (statement,)),)


@cache
def load_vocabulary() -> vocabulary.Vocabulary:
    """Return the vocabulary of grants."""
    return vocabulary.Vocabulary.from_table(vocabulary.read_table("cdap_operations"))


@cache
def list_kinds() -> tuple[str, ...]:
    """Return the kinds of the table, in its order."""
    return tuple(dict.fromkeys(operation.kind for operation in _load_operations().values()))


def list_operations(kind: str) -> tuple[CdapOperation, ...]:
    """Return the operations on a kind: the rows of the table, then the core rules it has no row for."""
    rows = [operation for operation in _load_operations().values() if operation.kind == kind]
    names = {operation.name for operation in rows}
    core_operations = (get_operation(f"{kind}.{verb}") for verb in _load_core_rules() if f"{kind}.{verb}" not in names)
    return (*rows, *core_operations)


@cache
def _load_operations() -> Mapping[str, CdapOperation]:
    rows = [_parse_operation(entry) for entry in vocabulary.read_table("cdap_operations")["row"]]
    return MappingProxyType({row.name: row for row in rows})


@cache
def _load_core_rules() -> Mapping[str, Mapping[str, Any]]:
    return MappingProxyType({entry["name"]: entry for entry in vocabulary.read_table("cdap_operations")["core"]})


def _parse_operation(entry: Mapping[str, Any]) -> CdapOperation:
    kind = entry["kind"]
    # The instance has no parent, so a core rule's needs on the parent do not apply.
    needs = [need for need in entry["needs"] if not (kind == cdap_entity_ids.INSTANCE and need["on"] == PARENT)]
    return CdapOperation(
        name=f"{kind}.{entry['name']}",
        kind=kind,
        rule=entry["rule"],
        needs=tuple(Need(tuple(need.get("any_of") or (need["privilege"],)), need.get("on", SELF)) for need in needs),
        optional=frozenset(need["on"] for need in needs if need.get("optional")),
        effect=OperationEffect(entry["effect"]) if "effect" in entry else None,
    )


def _urn_kind(urn: str) -> str:
    return urn.split(":")[2]
