"""The actors that statements name for one resource, owners included; groups and roles are not expanded."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from operator import or_

from policies.engine.actor_conditions import tested_attributes
from policies.engine.model import Effect, Statement
from policies.engine.restrictions import RoleAllow, combine_allows
from policies.engine.selectors import (
    EVERYONE,
    IN_ANY_GROUP,
    ONESELF,
    OWNER_OF_ANY_TYPE,
    Resource,
    is_relational,
    owner_token,
)

_GROUP_PREFIX, _USER_PREFIX = "urn:li:corpGroup:", "urn:li:corpuser:"

#: Of a name: whether it is a user's, then the allows that list and that exclude it, the denies that do, each as bits.
_NameClauses = tuple[bool, int, int, int, int]


@dataclass(frozen=True, slots=True)
class NamedActors:
    """URNs of users, groups and roles, EVERYONE and IN_ANY_GROUP.

    `exceptions` are those that a deny or an exclusion takes out: names that an allow lists, and names by which somebody
    who has one of `names`, too, is not allowed (a user in a listed group, a role that a listed user may hold).
    `is_conditional`: it depends on more than the names, on actor conditions of an allow, on whether somebody is in any
    group at all where a deny means that, on two names together, or on owners when the question names no entity
    (`needs_owners`). `is_narrowed`: a deny, an exclusion or an actor condition may refuse somebody who has one of
    `names`, or allow somebody who has none. Only actors who have one of `judged_tokens` can be such; of those who have
    the same ones, and the same attributes in the fields `judged_fields`, all are alike.
    """

    names: frozenset[str]
    exceptions: frozenset[str]
    is_conditional: bool
    needs_owners: bool = False
    is_narrowed: bool = False
    judged_tokens: frozenset[str] = frozenset()
    judged_fields: frozenset[str] = frozenset()


def find_named_actors(statements: Iterable[Statement], resource: Resource | None) -> NamedActors:
    """Return the actors that the allows name, of statements on one privilege that cover the resource (datahub.md a.8).

    A deny removes exactly the names it lists: everyone removes all, any group removes every group, a group only itself;
    whom it excludes stays. Nothing is expanded, so the members of a group stay under other names: `decide` is exact for
    one actor. An allow with actor conditions adds no names, a deny with actor conditions removes all names it may deny.
    Roles whose combined restrictions leave no visible column are removed (rules/datazone.md DZ-57).
    """
    allows: list[_ActorClause] = []
    denies: list[_ActorClause] = []
    allows_by_token: dict[str, list[RoleAllow]] = defaultdict(list)
    judged_tokens: set[str] = set()
    conditional_statements: list[Statement] = []
    needs_owners = is_conditional = is_narrowed = False
    for statement in statements:
        clause = _ActorClause(statement, resource)
        judged_tokens |= clause.names | clause.excluded
        needs_owners = needs_owners or (bool(clause.needs_owners) and not (resource and resource.urn))
        is_narrowed = is_narrowed or statement.effect is Effect.DENY or statement.is_actor_specific
        if statement.actor_conditions:
            conditional_statements.append(statement)
        if statement.effect is Effect.DENY:
            denies.append(clause)
            continue
        for token in statement.actors.tokens:
            allows_by_token[token].append(RoleAllow(token, statement.restriction))
        if statement.actor_conditions:
            is_conditional = True
        else:
            allows.append(clause)
    hidden_tokens = {token for token, role_allows in allows_by_token.items() if combine_allows(role_allows) == ()}
    allowed_names = _list_allowed_names(allows, denies) - hidden_tokens
    touched_names = frozenset[str]().union(
        *(clause.names for clause in denies), *(clause.excluded for clause in allows)
    )
    exceptions = _find_exceptions(touched_names - {EVERYONE}, allowed_names, allows, denies)
    # Members of any group have no name among the exceptions, nor has somebody whom only two names together let through.
    is_conditional = (
        is_conditional
        or needs_owners
        or (bool(allowed_names) and IN_ANY_GROUP in exceptions)
        or _needs_two_names(allowed_names, allows, denies)
    )
    # Actors whom no name but everyone, or any group, reaches are alike, unless conditions tell them apart. What a deny
    # for any group takes out of everyone has no name.
    nameless_tokens = {EVERYONE, IN_ANY_GROUP}.difference(
        *(statement.actors.tokens for statement in conditional_statements)
    )
    if EVERYONE in allowed_names and IN_ANY_GROUP in exceptions:
        nameless_tokens.discard(IN_ANY_GROUP)
    return NamedActors(
        frozenset(allowed_names),
        exceptions - {IN_ANY_GROUP},
        is_conditional,
        needs_owners,
        is_narrowed,
        frozenset(judged_tokens - nameless_tokens),
        tested_attributes(conditional_statements),
    )


def list_audience(statement: Statement, resource: Resource | None) -> set[str]:
    """Return the names in an actor clause, with the resource itself and its owners where the clause means them.

    Oneself is a user (rules/datahub.md a.1): a group is nobody who could ask, and its members are not the group.
    """
    names = _resolve_tokens(statement.actors.tokens, resource)
    if resource is not None and resource.urn.startswith(_USER_PREFIX) and ONESELF in statement.actors.tokens:
        names.add(resource.urn)
    return names


class _ActorClause:
    """The actor clause of a statement on one resource: the names it lists, and those it excludes."""

    def __init__(self, statement: Statement, resource: Resource | None) -> None:
        self.names = list_audience(statement, resource)
        self.excluded = _resolve_tokens(statement.actors.excluded_tokens, resource)
        excludes_owners = any(map(is_relational, statement.actors.excluded_tokens))
        denies_owners = statement.effect is Effect.DENY and any(map(is_relational, statement.actors.tokens))
        self.needs_owners = excludes_owners or denies_owners

    def may_reach(self, name: str) -> bool:
        """Whether the clause lists a name, or everyone, or any group for a group, exclusions aside."""
        is_group = name == IN_ANY_GROUP or name.startswith(_GROUP_PREFIX)
        return name in self.names or EVERYONE in self.names or (is_group and IN_ANY_GROUP in self.names)

    def reaches(self, name: str) -> bool:
        """Whether the clause speaks to an actor of whom nothing is known but this name."""
        return name not in self.excluded and self.may_reach(name)


def _find_exceptions(
    touched_names: Iterable[str],
    allowed_names: Iterable[str],
    allows: Sequence[_ActorClause],
    denies: Sequence[_ActorClause],
) -> frozenset[str]:
    """Return those of the names that are taken out, or that take out whoever has one of the allowed names besides."""
    name_set = frozenset(touched_names)
    if not name_set:
        return name_set
    describe = _describe_names(allows, denies)
    # Names that the same clauses list and exclude are judged once.
    names_by_clauses: dict[_NameClauses, list[str]] = defaultdict(list)
    for name in name_set:
        names_by_clauses[describe(name)].append(name)
    allowed_clauses = {describe(name) for name in allowed_names}
    return frozenset(
        name
        for clauses, names in names_by_clauses.items()
        if (clauses[1] and not _allow_together(clauses, clauses))
        or any(
            not _allow_together(clauses, other_clauses)
            for other_clauses in allowed_clauses
            # Nobody is two users.
            if not (clauses[0] and other_clauses[0])
        )
        for name in names
    )


def _needs_two_names(
    allowed_names: Collection[str], allows: Sequence[_ActorClause], denies: Sequence[_ActorClause]
) -> bool:
    """Whether a name that an allow lists and one that a deny spares allow together what neither does alone."""
    spared_names = frozenset[str]().union(*(clause.excluded for clause in denies))
    if not spared_names:
        return False
    describe = _describe_names(allows, denies)
    clauses_of_listed = {
        describe(name) for clause in allows for name in clause.names - clause.excluded if name not in allowed_names
    }
    clauses_of_spared = {describe(name) for name in spared_names if name not in allowed_names}
    return any(
        _allow_together(clauses, other_clauses)
        for clauses in clauses_of_listed
        for other_clauses in clauses_of_spared
        if not (clauses[0] and other_clauses[0])
    )


def _describe_names(allows: Sequence[_ActorClause], denies: Sequence[_ActorClause]) -> Callable[[str], _NameClauses]:
    find_allows, find_denies = _index_clauses(allows), _index_clauses(denies)
    return lambda name: (name.startswith(_USER_PREFIX), *find_allows(name), *find_denies(name))


def _index_clauses(clauses: Sequence[_ActorClause]) -> Callable[[str], tuple[int, int]]:
    """Return a function from a name to the clauses that list it and those that exclude it, as bits of two integers."""
    listing_bits: dict[str, int] = defaultdict(int)
    excluding_bits: dict[str, int] = defaultdict(int)
    for number, clause in enumerate(clauses):
        for name in clause.names:
            listing_bits[name] |= 1 << number
        for name in clause.excluded:
            excluding_bits[name] |= 1 << number

    def find_bits(name: str) -> tuple[int, int]:
        is_group = name == IN_ANY_GROUP or name.startswith(_GROUP_PREFIX)
        listing = listing_bits.get(name, 0) | listing_bits.get(EVERYONE, 0)
        return listing | (listing_bits.get(IN_ANY_GROUP, 0) if is_group else 0), excluding_bits.get(name, 0)

    return find_bits


def _allow_together(first: _NameClauses, second: _NameClauses) -> bool:
    """Whether an actor of whom these two names are known is allowed."""
    _, allowing, excluding, denying, sparing = map(or_, first, second)
    return bool(allowing & ~excluding) and not denying & ~sparing


def _list_allowed_names(allows: Sequence[_ActorClause], denies: Sequence[_ActorClause]) -> set[str]:
    """Return the names that allows list and no deny takes out, and those that only the exceptions of denies leave."""
    names = {name for clause in allows for name in clause.names - clause.excluded}
    allowed_names = {name for name in names if not any(clause.reaches(name) for clause in denies)}
    for name in frozenset[str]().union(*(clause.excluded for clause in denies)):
        is_group = name.startswith(_GROUP_PREFIX)
        is_implied = EVERYONE in allowed_names or (is_group and IN_ANY_GROUP in allowed_names)
        if not is_implied and _is_allowed(name, allows, denies):
            allowed_names.add(name)
    return allowed_names


def _is_allowed(name: str, allows: Iterable[_ActorClause], denies: Iterable[_ActorClause]) -> bool:
    return any(clause.reaches(name) for clause in allows) and not any(clause.reaches(name) for clause in denies)


def _resolve_tokens(tokens: Iterable[str], resource: Resource | None) -> set[str]:
    """Return the tokens that name actors whatever the resource, and the owners of the resource that the others mean."""
    token_set = frozenset(tokens)
    names = {token for token in token_set if not is_relational(token)}
    if resource is not None:
        names.update(
            owner.actor
            for owner in resource.owners
            if OWNER_OF_ANY_TYPE in token_set or (owner.type and owner_token(owner.type) in token_set)
        )
    return names
