"""All compiled statements at one policy version, numbered, and the bit sets that index them.

Deciding is set algebra over statements. One question ANDs the set that lists the privilege, the set whose actor clause
has any of the actor's tokens, and for each criterion index the set of statements without a criterion there or with one
that the resource's values meet. Plain integers hold the sets, one bit per statement, numbered once for the whole
snapshot, so a privilege that every policy lists costs no more than a rare one. Where few statements are left before
their criteria are looked at, these are tested one by one.

Sets that follow from the statements alone are cached: those of an actor's tokens, of a privilege on a type of resource,
and the tested fields of privileges. Decisions are not cached.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Self, TypeVar

from policies.engine import actor_conditions
from policies.engine.model import SYSTEM_ACTOR, Actor, Coverage, Effect, Question, Statement
from policies.engine.selectors import (
    ONESELF,
    OWNER,
    OWNER_OF_ANY_TYPE,
    TYPE,
    URN,
    Resource,
    owner_token,
    resource_tokens,
)
from policies.engine.statement_index import StatementIndex, union
from policies.engine.statement_order import Policy, sort_by_locality

Key = TypeVar("Key")
Value = TypeVar("Value")

#: Most cached sets of each kind. Each takes a kilobyte or two at 10,000 statements.
_MAX_CACHED_SETS = 2048

#: Up to so many candidates are tested one by one, which costs less than looking up every value of the resource, also
#: where all of it comes from memory: then the sets of the values take longer to come than the statements.
_MAX_SINGLE_TESTS = 4


class Snapshot(StatementIndex):
    """Statements and their indexes at one version. Immutable once built: `replace` returns a new snapshot."""

    __slots__ = ("__weakref__", "_all_tested_fields", "_by_question", "_by_tokens", "_tested_fields", "version")

    def __init__(self, version: int) -> None:
        super().__init__()
        self.version = version
        self._by_tokens: dict[frozenset[str], int] = {}
        self._by_question: dict[tuple[str, str | None], int] = {}
        self._tested_fields: dict[frozenset[str], tuple[frozenset[str], frozenset[str]]] = {}
        self._all_tested_fields: frozenset[str] | None = None

    @classmethod
    def build(cls, version: int, policies: Iterable[Policy]) -> Self:
        """Build from pairs of policy URN and the policy's compiled statements."""
        snapshot = cls(version)
        for policy, statements in sort_by_locality(tuple(policies)):
            snapshot._insert(policy, statements)
        snapshot._seal()
        return snapshot

    def replace(self, version: int, changes: Mapping[str, tuple[Statement, ...]]) -> "Snapshot":
        """Return a snapshot in which these policies have these statements; no statements removes the policy."""
        snapshot = Snapshot(version)
        snapshot._copy_from(self)
        for policy, statements in changes.items():
            snapshot._remove(policy)
            if statements:
                snapshot._insert(policy, statements)
        snapshot._seal()
        return snapshot

    # -- reading ------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._statements) - len(self._free_numbers)

    @property
    def statements(self) -> tuple[Statement, ...]:
        """Every statement, in the order of its origin."""
        return self.select(self.everything)

    @property
    def policies(self) -> frozenset[str]:
        """The URNs of the policies that have statements here."""
        return frozenset(self._by_policy)

    @property
    def everything(self) -> int:
        """The numbers of all statements, free numbers included."""
        return (1 << len(self._statements)) - 1

    def match(self, question: Question) -> int:
        """Return the numbers of all statements that match the question, allows and denies together.

        Raises MissingFact if a facet was not loaded on which it depends whether a candidate matches.
        """
        actor, resource = question.actor, question.resource
        candidates = self._find_candidates(question.privilege, None if resource is None else resource.type)
        if not candidates:
            return 0
        candidates &= self._match_actor(actor)
        if resource is not None:
            if self._by_relational_token and (resource.owners or resource.urn == actor.urn):
                candidates |= self._match_relational_candidates(question.privilege, actor, resource)
            if candidates:
                candidates = self._retain_covering(candidates, resource)
        if candidates & self._excluding_bits:
            candidates &= ~self._match_exclusions(actor, resource)
        if candidates & self._constrained_bits:
            candidates = self._apply_subresource_constraints(candidates, question.subresources)
        if candidates and self._conditional_bits and candidates & self._conditional_bits:
            candidates = self._apply_conditions(candidates, actor, resource)
        return candidates

    def list_covering_statements(self, privilege: str, resource: Resource | None) -> tuple[Statement, ...]:
        """Return the statements on a privilege that cover a resource, whatever actors and actor conditions they have.

        Without those that say nothing of a question without sub-resources. Raises MissingFact if a facet that one of
        them tests was not loaded.
        """
        candidates = self._find_candidates(privilege, None if resource is None else resource.type)
        candidates = self._apply_subresource_constraints(candidates, ())
        return self.select(
            candidates if resource is None else self._selector_index.retain_covering(candidates, resource)
        )

    def filter_denies(self, bits: int) -> int:
        """Return the denies among the statements."""
        return bits & self._deny_bits

    def filter_restricted(self, bits: int) -> int:
        """Return the statements that have a restriction."""
        return bits & self._restricted_bits

    def tested_fields(self, privileges: Iterable[str]) -> frozenset[str]:
        """Return the facets of the resource that statements on these privileges test.

        OWNER is among them if ownership matters. TYPE and URN never are: they come with the question.
        """
        return self._find_tested_fields(privileges)[0]

    def tested_subfields(self, privileges: Iterable[str]) -> frozenset[str]:
        """Return the facets of sub-resources that statements on these privileges test."""
        return self._find_tested_fields(privileges)[1]

    @property
    def all_tested_fields(self) -> frozenset[str]:
        """The facets that any statement tests, of a resource or of sub-resources."""
        if self._all_tested_fields is None:
            self._all_tested_fields = frozenset[str]().union(*self._find_tested_fields(self._by_privilege))
        return self._all_tested_fields

    def _find_tested_fields(self, privileges: Iterable[str]) -> tuple[frozenset[str], frozenset[str]]:
        """Return the facets of the resource and those of sub-resources that statements on these privileges test."""
        key = frozenset(privileges)
        tested_fields = self._tested_fields.get(key)
        if tested_fields is None:
            candidates = self._match_privileges(key)
            fields = {index.field for index in self._criterion_indexes.values() if index.mentions & candidates}
            fields.update(field for field, bits in self._condition_fields.items() if bits & candidates)
            ownership_items = (*self._by_relational_token.items(), *self._by_excluded_token.items())
            if any(bits & candidates for token, bits in ownership_items if token.startswith(OWNER_OF_ANY_TYPE)):
                fields.add(OWNER)
            subfields = frozenset(field for field, bits in self._subfields.items() if bits & candidates)
            tested_fields = frozenset(fields - {TYPE, URN}), subfields - {TYPE, URN}
            _remember(self._tested_fields, key, tested_fields)
        return tested_fields

    def list_statements(self, privilege: str, *, among: int | None = None) -> tuple[Statement, ...]:
        """Return the statements that list a privilege, for questions without sub-resources; `among` these numbers."""
        candidates = self._by_privilege.get(privilege, 0)
        if among is not None:
            candidates &= among
        return self.select(self._apply_subresource_constraints(candidates, ()))

    def find_reaching(self, tokens: Iterable[str]) -> int:
        """Return the numbers of the statements that may reach an actor who has some of these tokens and no others.

        Those about owners and about oneself may reach anybody.
        """
        get_bits = self._by_token.get
        return union(get_bits(token, 0) for token in tokens) | union(self._by_relational_token.values())

    def list_policy_statements(self, policy: str) -> tuple[Statement, ...]:
        """Return the statements of one policy, none if it has none here."""
        return self.select(union(1 << number for number in self._by_policy.get(policy, ())))

    def list_naming_statements(self, tokens: Iterable[str]) -> tuple[Statement, ...]:
        """Return the statements whose actor clause has one of these tokens, in the order of their origin."""
        get_bits = self._by_token.get
        return self.select(union(get_bits(token, 0) for token in tokens))

    def list_testing(self, tokens: Iterable[str], *, about_owners: bool = False) -> tuple[Statement, ...]:
        """Return the statements whose actor clause names or excludes one of these tokens; and owners, if so wanted."""
        wanted_tokens = set(tokens)
        if about_owners:
            known_tokens = (*self._by_relational_token, *self._by_excluded_token)
            wanted_tokens.update(token for token in known_tokens if token.startswith(OWNER_OF_ANY_TYPE))
        tables = (self._by_token, self._by_relational_token, self._by_excluded_token)
        return self.select(union(table.get(token, 0) for token in wanted_tokens for table in tables))

    def list_testing_fields(self, fields: Collection[str]) -> tuple[Statement, ...]:
        """Return the statements whose criteria on the resource test one of these fields."""
        return self.select(union(index.mentions for index in self._criterion_indexes.values() if index.field in fields))

    def names_value(self, field: str, value: str) -> bool:
        """Whether a criterion on a field is met, or excluded, by this value and not by every one."""
        return any(
            index.field == field and bool(index.get_lookup()(value)) for index in self._criterion_indexes.values()
        )

    @property
    def constrained_fields(self) -> frozenset[str]:
        """The facets of sub-resources that constraints test."""
        return frozenset(self._subfields)

    def find_listing(self, privilege: str) -> int:
        """Return the numbers of the statements that list a privilege; privileges of equal sets are decided alike."""
        return self._by_privilege.get(privilege, 0)

    def list_statements_of(self, policies: Iterable[str]) -> tuple[Statement, ...]:
        """Return the statements of these policies, in the order of their origin."""
        numbers = [number for policy in policies for number in self._by_policy.get(policy, ())]
        return self.select(sum(1 << number for number in numbers))

    def has_denies(self, privileges: Iterable[str]) -> bool:
        """Whether a deny lists one of the privileges."""
        deny_bits = self._deny_bits
        return bool(deny_bits) and any(self._by_privilege.get(privilege, 0) & deny_bits for privilege in privileges)

    def has_narrowing(self, privileges: Iterable[str]) -> bool:
        """Whether a statement denies one of these privileges, or excludes actors from it.

        If none does, whoever joins a group or gets a role loses nothing by it, and whoever leaves one gains nothing.
        """
        narrowing_bits = self._deny_bits | self._excluding_bits
        return bool(narrowing_bits) and bool(self._match_privileges(privileges) & narrowing_bits)

    def group_by_shortfall(self, question: Question) -> tuple[tuple[Statement, ...], ...]:
        """Return the allows on the privilege by number of failing conditions: at index 0 none, at index 1 one, …

        Raises MissingFact if a facet that one of them tests was not loaded.
        """
        levels = [self._by_privilege.get(question.privilege, 0) & ~self._deny_bits]
        for failing_bits in self._iterate_failures(levels[0], question):
            # A statement with one more failing condition moves one level up.
            moved_levels = [level & failing_bits for level in levels]
            levels = [
                level ^ leaving_bits | entering_bits
                for level, leaving_bits, entering_bits in zip(
                    (*levels, 0), (*moved_levels, 0), (0, *moved_levels), strict=True
                )
            ]
        while levels and not levels[-1]:
            levels.pop()
        return tuple(tuple(statement for _, statement in self._iterate_bits(level)) for level in levels)

    def compute_coverage(self, actor: Actor, privilege: str) -> Coverage:
        """Return the actor's coverage for the privilege, as selectors, ignoring constraints on sub-resources."""
        if actor.urn == SYSTEM_ACTOR:
            return Coverage(actor=actor, version=self.version, is_everything=True)
        if not actor.is_active:
            return Coverage(actor=actor, version=self.version)
        candidates = self._apply_subresource_constraints(self._by_privilege.get(privilege, 0), ())
        named_statements = self._match_actor(actor)
        relational_statements = union(self._by_relational_token.values())
        tokens = actor.tokens
        matching_statements = self.select(candidates & (named_statements | relational_statements))
        if candidates & (self._conditional_bits | self._excluding_bits):
            bound_statements = (actor_conditions.bind_actor(statement, actor) for statement in matching_statements)
            matching_statements = tuple(statement for statement in bound_statements if statement is not None)
        covers = [actor_conditions.actor_cover(statement, tokens) for statement in matching_statements]
        return Coverage(
            actor=actor,
            allows=tuple(cover for cover in covers if cover.statement.effect is Effect.ALLOW),
            denies=tuple(cover for cover in covers if cover.statement.effect is Effect.DENY),
            version=self.version,
        )

    # -- small steps --------------------------------------------------------------------------------------------

    def _find_candidates(self, privilege: str, type: str | None) -> int:
        """Return the statements that list a privilege and accept a type of resource (None: a question without one)."""
        key = (privilege, type)
        candidates = self._by_question.get(key)
        if candidates is None:
            candidates = self._by_privilege.get(privilege, 0)
            if type is None:
                candidates &= self._resourceless_bits
            else:
                values = (type,) if type else ()
                for index in self._type_indexes:
                    candidates = index.retain_matching(candidates, values)
            _remember(self._by_question, key, candidates)
        return candidates

    def _retain_covering(self, candidates: int, resource: Resource) -> int:
        """Keep the candidates that cover the resource; they must already accept its type."""
        if candidates.bit_count() > _MAX_SINGLE_TESTS:
            return self._selector_index.retain_covering(candidates, resource)
        for number in self._list_numbers(candidates):
            for criterion in self._criteria[number]:
                if not criterion.holds(resource.values(criterion.field)):
                    candidates ^= 1 << number
                    break
        return candidates

    def _match_actor(self, actor: Actor) -> int:
        """Return the statements whose actor clause names the actor, whatever the resource."""
        tokens = actor.tokens
        matching_bits = self._by_tokens.get(tokens)
        if matching_bits is None:
            matching_bits, get_bits = 0, self._by_token.get
            for token in tokens:
                bits = get_bits(token)
                if bits is not None:
                    # While the set is empty, a union would be a copy, which costs as much as a union.
                    matching_bits = matching_bits | bits if matching_bits else bits
            _remember(self._by_tokens, tokens, matching_bits)
        return matching_bits

    def _match_relational_candidates(self, privilege: str, actor: Actor, resource: Resource) -> int:
        """Return the candidates whose actor clause names the actor as the resource itself or as an owner of it."""
        matching_bits = self._match_relational(actor, resource)
        return matching_bits & self._find_candidates(privilege, resource.type) if matching_bits else 0

    def _match_relational(self, actor: Actor, resource: Resource) -> int:
        """Return the statements whose actor clause names the actor as the resource itself or as an owner of it.

        An ownership entry without a type counts only for clauses on any type (rules/datahub.md a.2).
        """
        get_bits = self._by_relational_token.get
        matching_bits = get_bits(ONESELF, 0) if resource.urn and resource.urn == actor.urn else 0
        for owner in resource.owners:
            if owner.actor == actor.urn or owner.actor in actor.groups:
                matching_bits |= get_bits(OWNER_OF_ANY_TYPE, 0)
                if owner.type:
                    matching_bits |= get_bits(owner_token(owner.type), 0)
        return matching_bits

    def _match_exclusions(self, actor: Actor, resource: Resource | None) -> int:
        """Return the statements that exclude the actor, whatever the resource or as an owner of it."""
        get_bits = self._by_excluded_token.get
        excluding_bits = union(get_bits(token, 0) for token in actor.tokens)
        for token in resource_tokens(actor.urn, actor.holders, resource):
            excluding_bits |= get_bits(token, 0)
        return excluding_bits

    def _iterate_failures(self, candidates: int, question: Question) -> Iterator[int]:
        """Yield, for each kind of condition, the candidates of which it does not hold."""
        actor, resource = question.actor, question.resource
        matching_bits = self._match_actor(actor)
        if resource is not None:
            matching_bits |= self._match_relational(actor, resource)
        yield candidates & ~matching_bits
        yield candidates & self._match_exclusions(actor, resource)
        if resource is None:
            yield candidates & ~self._resourceless_bits
        else:
            for index in self._criterion_indexes.values():
                if tested_bits := candidates & index.mentions:
                    yield tested_bits & ~index.retain_matching(tested_bits, resource.values(index.field))
        yield candidates & ~self._apply_subresource_constraints(candidates, question.subresources)
        yield from self._iterate_condition_failures(candidates & self._conditional_bits, actor, resource)

    def _apply_subresource_constraints(self, candidates: int, subresources: tuple[Resource, ...]) -> int:
        """Keep the statements whose constraint the sub-resources meet: one allow must cover them all (a.5)."""
        if not subresources:
            return candidates & ~(self._constrained_bits & self._deny_bits)
        for bit, statement in self._iterate_bits(candidates & self._constrained_bits):
            if not meets_constraint(statement, subresources):
                candidates ^= bit
        return candidates

    def _apply_conditions(self, candidates: int, actor: Actor, resource: Resource | None) -> int:
        """Keep the statements whose actor conditions all hold."""
        for bit, statement in self._iterate_bits(candidates & self._conditional_bits):
            if actor_conditions.failing_conditions(statement, actor, resource):
                candidates ^= bit
        return candidates

    def _iterate_condition_failures(self, candidates: int, actor: Actor, resource: Resource | None) -> Iterator[int]:
        """Yield the statements with at least one failing actor condition, then those with at least two, and so on."""
        levels: list[int] = []
        for bit, statement in self._iterate_bits(candidates):
            for level in range(len(actor_conditions.failing_conditions(statement, actor, resource))):
                if level == len(levels):
                    levels.append(0)
                levels[level] |= bit
        yield from levels


def meets_constraint(statement: Statement, subresources: tuple[Resource, ...]) -> bool:
    """Whether the sub-resources of a question meet the statement's constraint.

    For an allow every one of them has to, which none does not fail; for a deny at least one. True without a constraint.
    """
    selector = statement.subresources
    if selector is None:
        return True
    outcomes = (resource.is_any_subresource or selector.covers(resource) for resource in subresources)
    return any(outcomes) if statement.effect is Effect.DENY else all(outcomes)


def _remember(cache: dict[Key, Value], key: Key, value: Value) -> None:
    if len(cache) >= _MAX_CACHED_SETS:
        cache.clear()
    cache[key] = value
