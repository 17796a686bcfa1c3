"""All compiled statements at one policy version, numbered, and the bit sets that index them.

Deciding is set algebra over statements: for one question AND together the set that lists the privilege, the set that
speaks to any of the actor's tokens, and for each column of criteria the set that does not mention it or accepts one of
the resource's values. Plain integers hold the sets, one bit a statement, numbered once for the whole snapshot, so a
privilege that every policy lists costs no more than a rare one.

What follows from the statements alone is kept once it was asked for: the statement set of a set of tokens, and that of
a privilege on a type of resource. Decisions are not kept.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Self, TypeVar

from policies.engine import actor_conditions
from policies.engine.model import SYSTEM_ACTOR, Actor, Coverage, Effect, Question, Statement
from policies.engine.selectors import (
    EVERYONE,
    IN_ANY_GROUP,
    ONESELF,
    OWNER,
    OWNER_OF_ANY_TYPE,
    TYPE,
    URN,
    Resource,
    owner_token,
)
from policies.engine.statement_index import Numbering, union

Key = TypeVar("Key")
Kept = TypeVar("Kept")

#: How many statement sets are kept of each kind. Each takes a kilobyte or two at 10,000 statements.
_KEPT = 2048


class Snapshot(Numbering):
    """Immutable once built: `replace` gives a new snapshot and leaves this one as it was."""

    __slots__ = ("__weakref__", "_by_actor", "_by_question", "_tested", "version")

    def __init__(self, version: int) -> None:
        super().__init__()
        self.version = version
        self._by_actor: dict[tuple[str, frozenset[str], frozenset[str]], int] = {}
        self._by_question: dict[tuple[str, str | None], int] = {}
        self._tested: dict[frozenset[str], tuple[frozenset[str], frozenset[str]]] = {}

    @classmethod
    def build(cls, version: int, compiled: Iterable[tuple[str, tuple[Statement, ...]]]) -> Self:
        """Build from pairs of policy URN and the statements that policy compiles to."""
        snapshot = cls(version)
        for policy, statements in sorted(compiled, key=_neighbourhood):
            snapshot._insert(policy, statements)
        snapshot._seal()
        return snapshot

    def replace(self, version: int, changes: Mapping[str, tuple[Statement, ...]]) -> "Snapshot":
        """Return a snapshot in which these policies have these statements; no statements takes the policy out."""
        twin = Snapshot(version)
        twin._copy_from(self)
        for policy, statements in changes.items():
            twin._remove(policy)
            if statements:
                twin._insert(policy, statements)
        twin._seal()
        return twin

    # -- reading ------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._statements) - len(self._free)

    @property
    def statements(self) -> tuple[Statement, ...]:
        """Every statement, in the order of its origin."""
        return _in_order(statement for statement in self._statements if statement is not None)

    @property
    def policies(self) -> frozenset[str]:
        """The URNs of the policies that have statements here."""
        return frozenset(self._by_policy)

    @property
    def everything(self) -> int:
        """The numbers of all statements."""
        return (1 << len(self._statements)) - 1

    def select(self, bits: int) -> tuple[Statement, ...]:
        """Return the statements with these numbers, in the order of their origin."""
        return _in_order(self._each(bits))

    def matching(self, question: Question) -> int:
        """Return the numbers of all statements that match the question, allows and denies together.

        Raises MissingFact when a facet that one of the candidates tests was not loaded.
        """
        actor, resource = question.actor, question.resource
        live = self._candidates(question.privilege, None if resource is None else resource.type)
        if not live:
            return 0
        live &= self._speaking_to(actor)
        if resource is not None:
            if self._towards and (resource.owners or resource.urn == actor.urn):
                live |= self._speaking_towards(question.privilege, actor, resource)
            if live:
                live = self._covering.keep(live, resource)
        if live and question.subresources and live & self._constrained:
            live = self._constrain(live, question.subresources)
        if live and self._provided and live & self._provided:
            live = self._provide(live, actor, resource)
        return live

    def about(self, privilege: str, resource: Resource | None) -> tuple[Statement, ...]:
        """Return the statements on a privilege that cover a resource, whomever they speak to and on which provisos.

        Raises MissingFact when a facet that one of them tests was not loaded.
        """
        live = self._candidates(privilege, None if resource is None else resource.type)
        return self.select(live if resource is None else self._covering.keep(live, resource))

    def denying(self, bits: int) -> int:
        """Return those of the statements that deny."""
        return bits & self._denies

    def restricting(self, bits: int) -> int:
        """Return those of the statements that carry a restriction."""
        return bits & self._restricted

    def fields_for(self, privileges: Iterable[str]) -> frozenset[str]:
        """Return the facets of the resource that statements on these privileges test.

        OWNER is among them when ownership matters. TYPE and URN never are: they come with the question.
        """
        return self._tests(privileges)[0]

    def subfields_for(self, privileges: Iterable[str]) -> frozenset[str]:
        """Return the facets of sub-resources that statements on these privileges test."""
        return self._tests(privileges)[1]

    def _tests(self, privileges: Iterable[str]) -> tuple[frozenset[str], frozenset[str]]:
        """Return the facets of the resource and those of sub-resources that statements on these privileges test."""
        key = frozenset(privileges)
        found = self._tested.get(key)
        if found is None:
            live = self._listing(key)
            fields = {column.field for column in self._columns.values() if column.mentions & live}
            fields.update(field for field, bits in self._compared.items() if bits & live)
            if any(bits & live for token, bits in self._towards.items() if token != ONESELF):
                fields.add(OWNER)
            subfields = frozenset(field for field, bits in self._subfields.items() if bits & live)
            found = frozenset(fields - {TYPE, URN}), subfields - {TYPE, URN}
            _remember(self._tested, key, found)
        return found

    def listed(self, privilege: str) -> tuple[Statement, ...]:
        """Return the statements that list a privilege."""
        return self.select(self._by_privilege.get(privilege, 0))

    def shortfalls(self, question: Question) -> tuple[tuple[Statement, ...], ...]:
        """Return the allowing statements on the privilege by how many of their conditions do not hold: none, one, two …

        Raises MissingFact when a facet that one of them tests was not loaded.
        """
        levels = [self._by_privilege.get(question.privilege, 0) & ~self._denies]
        for failing in self._failing(levels[0], question):
            # A statement that is short of one more condition moves one level up.
            moved = [level & failing for level in levels]
            levels = [
                level ^ up | below for level, up, below in zip((*levels, 0), (*moved, 0), (0, *moved), strict=True)
            ]
        while levels and not levels[-1]:
            levels.pop()
        return tuple(tuple(self._each(level)) for level in levels)

    def coverage(self, actor: Actor, privilege: str) -> Coverage:
        """Return what the actor may use the privilege on, as selectors (questions without sub-resources)."""
        if actor.urn == SYSTEM_ACTOR:
            return Coverage(actor=actor, version=self.version, is_everything=True)
        if not actor.is_active:
            return Coverage(actor=actor, version=self.version)
        live = self._by_privilege.get(privilege, 0)
        named = self._speaking_to(actor)
        towards = union(self._towards.values())
        tokens = actor.tokens
        speaking = self.select(live & (named | towards))
        if live & self._provided:
            settled = (actor_conditions.settled(statement, actor) for statement in speaking)
            speaking = tuple(statement for statement in settled if statement is not None)
        covers = [actor_conditions.cover_of(statement, tokens) for statement in speaking]
        return Coverage(
            actor=actor,
            allows=tuple(cover for cover in covers if cover.statement.effect is Effect.ALLOW),
            denies=tuple(cover for cover in covers if cover.statement.effect is Effect.DENY),
            version=self.version,
        )

    # -- small steps --------------------------------------------------------------------------------------------

    def _candidates(self, privilege: str, type: str | None) -> int:
        """Return the statements that list a privilege and accept a type of resource (None: a question without one)."""
        key = (privilege, type)
        found = self._by_question.get(key)
        if found is None:
            found = self._by_privilege.get(privilege, 0)
            if type is None:
                found &= self._without_resource
            else:
                values = (type,) if type else ()
                for kept in self._type_columns:
                    found = kept.keep(found, values)
            _remember(self._by_question, key, found)
        return found

    def _speaking_to(self, actor: Actor) -> int:
        """Return the statements whose actor clause names the actor, whatever the resource."""
        key = (actor.urn, actor.groups, actor.roles)
        found = self._by_actor.get(key)
        if found is None:
            get = self._by_token.get
            found = get(EVERYONE, 0)
            for tokens in ((actor.urn, IN_ANY_GROUP) if actor.groups else (actor.urn,), actor.groups, actor.roles):
                for token in tokens:
                    bits = get(token)
                    if bits is not None:
                        # With nothing found yet the union would be a copy, which costs as much as a union.
                        found = found | bits if found else bits
            _remember(self._by_actor, key, found)
        return found

    def _speaking_towards(self, privilege: str, actor: Actor, resource: Resource) -> int:
        """Return the candidates that speak to what the actor is to the resource."""
        found = self._being_towards(actor, resource)
        return found & self._candidates(privilege, resource.type) if found else 0

    def _being_towards(self, actor: Actor, resource: Resource) -> int:
        """Return the statements that speak to what the actor is to the resource: itself, or an owner of it.

        An entry without a type counts for clauses on any type only (rules/datahub.md a.2).
        """
        get = self._towards.get
        found = get(ONESELF, 0) if resource.urn and resource.urn == actor.urn else 0
        for owner in resource.owners:
            if owner.actor == actor.urn or owner.actor in actor.groups:
                found |= get(OWNER_OF_ANY_TYPE, 0)
                if owner.type:
                    found |= get(owner_token(owner.type), 0)
        return found

    def _failing(self, live: int, question: Question) -> Iterator[int]:
        """Give for each kind of condition the statements of which it does not hold."""
        actor, resource = question.actor, question.resource
        speaking = self._speaking_to(actor)
        if resource is not None:
            speaking |= self._being_towards(actor, resource)
        yield live & ~speaking
        if resource is None:
            yield live & ~self._without_resource
        else:
            for column in self._columns.values():
                if tested := live & column.mentions:
                    yield tested & ~column.keep(tested, resource.values(column.field))
        if question.subresources:
            yield live & ~self._constrain(live, question.subresources)
        yield from self._short_of(live & self._provided, actor, resource)

    def _listing(self, privileges: Iterable[str]) -> int:
        return union(self._by_privilege.get(privilege, 0) for privilege in privileges)

    def _constrain(self, live: int, subresources: tuple[Resource, ...]) -> int:
        """Keep the statements whose constraint every sub-resource passes: one statement covers all (a.5)."""
        for bit, statement in self._bits(live & self._constrained):
            if not constraint_holds(statement, subresources):
                live ^= bit
        return live

    def _provide(self, live: int, actor: Actor, resource: Resource | None) -> int:
        """Keep the statements whose provisos hold."""
        known = actor_conditions.known_of(actor)
        for bit, statement in self._bits(live & self._provided):
            if not all(proviso.holds(known, resource) for proviso in statement.provisos):
                live ^= bit
        return live

    def _short_of(self, live: int, actor: Actor, resource: Resource | None) -> Iterator[int]:
        """Give the statements of which at least one proviso does not hold, those of which two do not, and so on."""
        levels: list[int] = []
        for bit, statement in self._bits(live):
            for level in range(len(actor_conditions.failing(statement, actor, resource))):
                if level == len(levels):
                    levels.append(0)
                levels[level] |= bit
        yield from levels


def constraint_holds(statement: Statement, subresources: tuple[Resource, ...]) -> bool:
    """Whether every sub-resource passes the statement's constraint; no sub-resources, or no constraint, passes."""
    selector = statement.subresources
    if selector is None:
        return True
    return all(resource.is_any_subresource or selector.covers(resource) for resource in subresources)


def _neighbourhood(compiled: tuple[str, tuple[Statement, ...]]) -> tuple[str, str]:
    """Order policies by a facet value that they want, so that those that want the same have numbers close together.

    A set is as long as its highest number, and fetching sets from memory is most of what a decision waits for.
    """
    criteria = [one for statement in compiled[1] for one in statement.resources.criteria if one.field != TYPE]
    return min(((one.field, min(one.values, default="")) for one in criteria), default=("~", ""))


def _remember(kept: dict[Key, Kept], key: Key, found: Kept) -> None:
    if len(kept) >= _KEPT:
        kept.clear()
    kept[key] = found


def _in_order(statements: Iterable[Statement]) -> tuple[Statement, ...]:
    return tuple(sorted(statements, key=lambda statement: (statement.origin.policy, statement.origin.index)))
