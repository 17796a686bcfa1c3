"""CDAP: operations that need privileges on an entity and on what it lies in, and privileges granted one by one.

Rules: `rules/cdap.md` CD-1 to CD-102; the table is `tables/cdap_operations.toml`. There are no policy documents here:
what is granted is kept by the host and comes to the engine as statements.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from types import MappingProxyType
from typing import Any

from policies.engine.errors import UnknownOperation
from policies.engine.families import cdap_entity_ids, vocabulary
from policies.engine.model import Effect as StatementEffect
from policies.engine.model import Origin, Statement
from policies.engine.requirements import SELF, Need, Requirement
from policies.engine.selectors import EVERYONE, EVERYTHING, URN, ActorMatch, Condition, Criterion, Selector

NAME = "cdap"

#: In the order in which grants are shown (api.md section 2).
PRIVILEGES = ("READ", "WRITE", "EXECUTE", "ADMIN")
READ, WRITE, EXECUTE, ADMIN = PRIVILEGES
_GRANTABLE = frozenset(PRIVILEGES)
#: Stands for the four (CD-2); it is no privilege of its own.
ALL = "ALL"
#: Any one of these lists an entity; EXECUTE alone does not (CD-12).
LISTING = (READ, WRITE, ADMIN)

#: Stands in reasons where other statements name their policy.
GRANT = "urn:li:dataHubPolicy:__grants"
#: What everybody may do without it being granted: ask for a list. What is on it is filtered (CD-12, CD-13).
FREE = Origin("urn:li:dataHubPolicy:__cdap_lists", "Lists")
_FREE_PRIVILEGE = "cdap:list"

PARENT, ARTIFACT = "parent", "artifact"


class Applied(StrEnum):
    """What applying an operation does to the catalog, where that is more than checking."""

    CREATE = "create"
    DELETE = "delete"
    LIST = "list"
    DELETE_ALL = "delete_all"


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation on one kind of entity: the rule it comes from, what it needs, and what it does."""

    name: str
    kind: str
    rule: str
    needs: tuple[Need, ...]
    optional: frozenset[str]
    applied: Applied | None

    @property
    def is_about_many(self) -> bool:
        """Whether it is asked of a place, and its needs judge each entity there."""
        return self.applied in (Applied.LIST, Applied.DELETE_ALL)


@dataclass(frozen=True, slots=True)
class Resultant:
    """A grant that a create gives: ALL on what was made, to who made it (CD-15, CD-16)."""

    principal: str
    entity: str
    privileges: tuple[str, ...] = PRIVILEGES


def operation(name: str) -> Operation:
    """Return the operation `<kind>.<operation>`: the row of the table, else the core rule (CD-6).

    Raises UnknownOperation.
    """
    found = _rows().get(name)
    if found is not None:
        return found
    kind, _, verb = name.partition(".")
    core = _core().get(verb)
    if core is None or not cdap_entity_ids.is_kind(kind):
        raise UnknownOperation(name)
    return _operation({**core, "kind": kind})


def requirement(name: str, given: Collection[str] = (), *, is_of_place: bool = False) -> Requirement:
    """Return what an operation needs when the question gives these relatives; all of it must hold (CD-7).

    With `is_of_place` the question of a list or of delete_all is about a place, or about nothing: asking is free, and
    what is there is judged one by one. Raises UnknownOperation.
    """
    found = operation(name)
    needs = tuple(need for need in found.needs if need.on not in found.optional - frozenset(given))
    if found.is_about_many and (is_of_place or not needs):
        needs = (Need((_FREE_PRIVILEGE,)),)
    return Requirement((needs,))


def expand(privileges: Iterable[str]) -> tuple[str, ...]:
    """Return privileges in their order, each once; ALL stands for the four (CD-2). Unknown ones are left out."""
    wanted = frozenset(privileges)
    return tuple(one for one in PRIVILEGES if one in wanted or ALL in wanted)


def grant(holder: str, privileges: Iterable[str], urn: str, source: str) -> Statement:
    """Return a grant as the engine judges it: an allow for one holder on one entity.

    `source` is what it was given on: the entity, a pattern that stands for it, or something it lies in.
    """
    return Statement(
        origin=Origin(GRANT, "Grant" if source == urn else f"Grant on {source}"),
        effect=StatementEffect.ALLOW,
        actors=ActorMatch(frozenset((holder,))),
        privileges=frozenset(privileges),
        resources=Selector((Criterion(URN, Condition.EQUALS, frozenset((urn,))),), needs_resource=True),
    )


def is_granted(privileges: Iterable[str]) -> bool:
    """Whether grants have a say about one of these privileges."""
    return not _GRANTABLE.isdisjoint(privileges)


def implicit() -> tuple[tuple[str, tuple[Statement, ...]], ...]:
    """Return what holds without being granted: everybody may ask for lists."""
    everybody = ActorMatch(frozenset((EVERYONE,)))
    statement = Statement(FREE, StatementEffect.ALLOW, everybody, frozenset((_FREE_PRIVILEGE,)), EVERYTHING)
    return ((FREE.policy, (statement,)),)


@cache
def privileges() -> vocabulary.Vocabulary:
    """Return the vocabulary of grants."""
    return vocabulary.Vocabulary.from_table(vocabulary.read_table("cdap_operations"))


@cache
def listed_kinds() -> tuple[str, ...]:
    """Return the kinds of the table, in its order."""
    return tuple(dict.fromkeys(one.kind for one in _rows().values()))


def operations_on(kind: str) -> tuple[Operation, ...]:
    """Return what can be asked about a kind: the rows of the table, then the core rules it has no row for."""
    rows = [one for one in _rows().values() if one.kind == kind]
    names = {one.name for one in rows}
    core = (operation(f"{kind}.{verb}") for verb in _core() if f"{kind}.{verb}" not in names)
    return (*rows, *core)


@cache
def _rows() -> Mapping[str, Operation]:
    rows = [_operation(entry) for entry in vocabulary.read_table("cdap_operations")["row"]]
    return MappingProxyType({row.name: row for row in rows})


@cache
def _core() -> Mapping[str, Mapping[str, Any]]:
    return MappingProxyType({entry["name"]: entry for entry in vocabulary.read_table("cdap_operations")["core"]})


def _operation(entry: Mapping[str, Any]) -> Operation:
    kind = entry["kind"]
    # The instance lies in nothing, so no core rule can ask anything there.
    needs = [need for need in entry["needs"] if not (kind == cdap_entity_ids.INSTANCE and need["on"] == PARENT)]
    return Operation(
        name=f"{kind}.{entry['name']}",
        kind=kind,
        rule=entry["rule"],
        needs=tuple(Need(tuple(need.get("any_of") or (need["privilege"],)), need.get("on", SELF)) for need in needs),
        optional=frozenset(need["on"] for need in needs if need.get("optional")),
        applied=Applied(entry["effect"]) if "effect" in entry else None,
    )


def _kind(urn: str) -> str:
    return urn.split(":")[2]
