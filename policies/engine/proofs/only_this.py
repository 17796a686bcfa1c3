"""Whether a change gives one person some privileges on one entity, and nobody anything else, in any catalog.

A person gains something only where an allow comes to match, or a deny ceases to. These are few for most people, so
each person whom any of them can concern is searched for by itself, people whom all statements concern alike once.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from policies.engine import families
from policies.engine.evaluate import decide
from policies.engine.model import Actor, DecisionCode, Effect, Statement
from policies.engine.proofs.change_terms import AFTER, BEFORE, AskedTwice, ChangeTerms
from policies.engine.proofs.formula import Formula, TimeOver
from policies.engine.proofs.known_states import KnownChange, KnownState
from policies.engine.proofs.search import MAX_SUBRESOURCES, group_allows
from policies.engine.proofs.verdicts import Proof, ProofContradiction, Verdict
from policies.engine.selectors import (
    GROUP_MEMBERSHIP,
    OWNER,
    URN,
    ActorMatch,
    is_relational,
)

#: Most URNs by which a person owns entities in a proof; of more groups, those that somebody names and one of each kind.
_MAX_HOLDERS = 32

#: Most statements that one question adds to those in the way: others that matter match the next question, too.
_MAX_OBSTACLES = 16

#: A statement of a side that must not match a question for somebody to gain by it.
_Obstacle = tuple[int, Statement]


@dataclass(frozen=True, slots=True)
class Allowance:
    """The privileges that a change may give: one person these, and those that they imply, on each of some places.

    A place is an entity, or None: the platform, where its privileges are held whatever entity a question names.
    """

    actor: str
    places: Mapping[str | None, Collection[str]]

    @property
    def widened_places(self) -> Iterator[tuple[str | None, frozenset[str]]]:
        """The places, each with its privileges and those that they imply."""
        for entity, privileges in self.places.items():
            yield entity, families.widen(privileges)


def find_more(before: KnownState, after: KnownState, allowance: Allowance, is_over: Callable[[], bool]) -> Proof:
    """Prove whether somebody may do after a change what is no part of the allowance and was not possible before.

    Asked are the people of the states, by privileges of any statement, about everything that a catalog could hold. The
    example of a yes is the question after the change, which is refused before it (`earlier`). Unknown where rows,
    columns or paths may be seen that were not before, and where the time is over. Raises ProofUnavailable, and
    ProofContradiction if solver and `decide` disagree.
    """
    try:
        return _OtherGainSearch(KnownChange(before, after), allowance, is_over).run()
    except TimeOver:
        return Proof(Verdict.UNKNOWN)


@dataclass(frozen=True, slots=True)
class _Sources:
    """The statements by which somebody could gain: allows that may come to match, and denies that may cease to.

    `limits` are allows that restricted a role together with others, and no longer do.
    """

    allows: tuple[Statement, ...]
    denies: tuple[Statement, ...]
    limits: tuple[Statement, ...] = ()

    @property
    def privileges(self) -> frozenset[str]:
        statements = (*self.allows, *self.denies, *self.limits)
        return frozenset[str]().union(*(statement.privileges for statement in statements))

    def limit(self, privileges: frozenset[str]) -> "_Sources":
        """Return those that list one of the privileges."""
        return _Sources(
            *(
                tuple(statement for statement in statements if not statement.privileges.isdisjoint(privileges))
                for statements in (self.allows, self.denies, self.limits)
            )
        )

    def __bool__(self) -> bool:
        return bool(self.allows or self.denies or self.limits)


class _OtherGainSearch:
    """The search for what a change gives beside its allowance."""

    def __init__(self, change: KnownChange, allowance: Allowance, is_over: Callable[[], bool]) -> None:
        self._change = change
        self._allowance = allowance
        self._is_over = is_over
        removed, added = change.before.snapshot.find_differences(change.after.snapshot)
        self._changed = frozenset((*removed, *added))
        self._added_allows = _select_effect(added, Effect.ALLOW)
        self._removed_denies = _select_effect(removed, Effect.DENY)
        self._removed_limits = tuple(statement for statement in removed if statement.restriction is not None)
        #: Removed denies in whose place there are the same ones with further exceptions, by these.
        self._excepted_tokens = _find_excepted(self._removed_denies, added)
        #: What may differ for people who are the same, since owners or the groups of accounts differ.
        fields = [OWNER] * bool(change.owned_entities) + [GROUP_MEMBERSHIP] * bool(change.moved_people)
        self._sensitive = tuple(state.snapshot.list_testing_fields(fields) for state in change.sides)
        self._owner_clauses = tuple(state.snapshot.list_testing((), about_owners=True) for state in change.sides)
        self._changed_owners = _find_changed_owners(change)
        self._people_keys = _PeopleKeys(change, allowance.actor)

    def run(self) -> Proof:
        if self._can_differ_on_subresources():
            return Proof(Verdict.UNKNOWN)
        seen_keys: set[object] = set()
        is_unknown = False
        for person, sources in self._list_concerned():
            key = self._people_keys.build(person)
            if key in seen_keys:
                continue
            seen_keys.add(key)
            proof = self._search(person, sources)
            if proof.verdict is Verdict.YES:
                return proof
            is_unknown |= proof.verdict is Verdict.UNKNOWN or self._may_show_more(person, sources)
        return Proof(Verdict.UNKNOWN if is_unknown else Verdict.NO)

    def _can_differ_on_subresources(self) -> bool:
        """Whether constraints test what differs between the sides, which has no terms."""
        fields = {OWNER} if self._change.owned_entities else set()
        fields |= {GROUP_MEMBERSHIP} if self._change.moved_people else set()
        return any(not fields.isdisjoint(state.snapshot.constrained_fields) for state in self._change.sides)

    # -- who could gain by what ---------------------------------------------------------------------------------------

    def _list_concerned(self) -> Iterator[tuple[str, _Sources]]:
        """Yield the people who could gain, with that by which they could; those who change first."""
        people_before, people_after = self._change.before.people, self._change.after.people
        changed = [
            urn for urn, was in people_before.items() if was is not people_after[urn] and was != people_after[urn]
        ]
        for person in dict.fromkeys(chain(changed, people_after)):
            if self._is_over():
                raise TimeOver
            if not self._change.can_ask(person):
                continue
            was, now = people_before[person], people_after[person]
            sources = self._find_unchanged(now) if was == now else self._find_changed(was, now)
            if sources:
                yield person, sources

    def _find_unchanged(self, actor: Actor) -> _Sources:
        """Return the sources for somebody who is the same on both sides."""
        is_owner = not actor.holders.isdisjoint(self._changed_owners)
        allows, denies = (
            (*changed, *_select_effect((*self._sensitive[side], *(self._owner_clauses[side] * is_owner)), effect))
            for side, effect, changed in (
                (AFTER, Effect.ALLOW, self._added_allows),
                (BEFORE, Effect.DENY, self._removed_denies),
            )
        )
        return _Sources(
            tuple(dict.fromkeys(statement for statement in allows if _can_reach(statement.actors, actor))),
            tuple(
                dict.fromkeys(
                    statement
                    for statement in denies
                    if _can_reach(statement.actors, actor)
                    and not self._excepted_tokens.get(statement, actor.tokens).isdisjoint(actor.tokens)
                )
            ),
            tuple(statement for statement in self._removed_limits if _can_reach(statement.actors, actor)),
        )

    def _find_changed(self, was: Actor, now: Actor) -> _Sources:
        """Return the sources for somebody who is in other groups, has other roles, or could do nothing before."""
        if not was.is_active:
            return _Sources(_select_effect(self._change.after.snapshot.statements, Effect.ALLOW), ())
        tokens, is_other_owner = was.tokens ^ now.tokens, was.holders != now.holders
        unchanged = self._find_unchanged(now)
        allows = self._change.after.snapshot.list_testing(tokens, about_owners=is_other_owner)
        denies = self._change.before.snapshot.list_testing(tokens, about_owners=is_other_owner)
        return _Sources(
            tuple(dict.fromkeys((*unchanged.allows, *_select_effect(allows, Effect.ALLOW)))),
            tuple(dict.fromkeys((*self._removed_denies, *unchanged.denies, *_select_effect(denies, Effect.DENY)))),
            unchanged.limits,
        )

    # -- one person ---------------------------------------------------------------------------------------------------

    def _search(self, person: str, sources: _Sources) -> Proof:
        """Prove whether the person gains something else."""
        search = _PersonSearch(self._change, self._allowance, self._is_over, person, sources)
        # Most of what is gained is gained by one of the first few allows.
        for group in group_allows(sources.allows):
            proof = search.find_gain(arrivals=group)
            if proof.verdict is not Verdict.NO:
                return proof
        proof = search.find_gain() if sources.denies else Proof(Verdict.NO)
        if proof.verdict is not Verdict.NO or not search.needs_allows:
            return proof
        # A deny that is gone opens what some allow gives.
        privileges = frozenset[str]().union(*(deny.privileges for deny in sources.denies))
        actor = self._change.after.people[person]
        allows = self._change.after.snapshot.list_allows(privileges)
        for group in group_allows(tuple(allow for allow in allows if _can_reach(allow.actors, actor))):
            proof = search.find_gain(allows=group)
            if proof.verdict is not Verdict.NO:
                break
        return proof

    def _may_show_more(self, person: str, sources: _Sources) -> bool:
        """Whether the person may see more rows, columns or paths of something else, where reading is restricted."""
        restricted = frozenset(
            name
            for name in sources.privileges
            if any(state.snapshot.has_restrictions([name]) for state in self._change.sides)
        )
        limited = sources.limit(restricted)
        search = _PersonSearch(self._change, self._allowance, self._is_over, person, limited, privileges=restricted)
        return bool(restricted) and search.can_differ()


@dataclass(slots=True)
class _PersonSearch:
    """The search for a question of one person that only the later state allows, and that the allowance leaves out.

    `needs_allows` says after a search whether a deny ceased to match where nothing allows.
    """

    change: KnownChange
    allowance: Allowance
    is_over: Callable[[], bool]
    person: str
    sources: _Sources
    privileges: frozenset[str] = frozenset()
    needs_allows: bool = False
    _obstacles: dict[_Obstacle, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Take the privileges of the sources, unless others are given."""
        self.privileges = self.privileges or self.sources.privileges

    def find_gain(self, *, arrivals: Sequence[Statement] = (), allows: Sequence[Statement] = ()) -> Proof:
        """Prove whether there is a gain by one of these sources; without `arrivals`, by a deny that ceases to match.

        With `allows`, only where one of these gives something.
        """
        number = 1 if self._has_constraints() else 0
        while True:
            questions = self._find_gain_with(number, arrivals, allows)
            needed_number = self._count_subresources()
            if questions is not None:
                return Proof(Verdict.YES, questions.later, earlier=questions.earlier)
            if needed_number <= number:
                return Proof(Verdict.NO)
            if needed_number > MAX_SUBRESOURCES:
                return Proof(Verdict.UNKNOWN)
            number = needed_number

    def can_differ(self) -> bool:
        """Whether any source comes or ceases to match a question that the allowance leaves out.

        An allow that matches already shows more, too, if it names another role of the person: each role shows its part.
        """
        came_tokens = self.change.after.people[self.person].tokens - self._was.tokens
        shared = [allow for allow in self.sources.allows if not came_tokens.isdisjoint(allow.actors.tokens)]
        with Formula(self.is_over) as formula:
            terms = self._build_terms(formula, 1 if self._has_constraints() else 0)
            arrivals = self._list_arrivals(formula, terms, self.sources.allows)
            wider = [terms.applies(allow, AFTER) for allow in shared]
            lifted = [terms.applies(limit, BEFORE) for limit in self.sources.limits]
            formula.require(*arrivals, *self._list_departures(formula, terms), *wider, *lifted)
            return terms.find_next() is not None

    def _find_gain_with(
        self, number_of_subresources: int, arrivals: Sequence[Statement], allows: Sequence[Statement]
    ) -> AskedTwice | None:
        with Formula(self.is_over) as formula:
            terms = self._build_terms(formula, number_of_subresources)
            if arrivals:
                formula.require(*self._list_arrivals(formula, terms, arrivals))
            else:
                formula.require(*self._list_departures(formula, terms))
            if allows:
                formula.require(*(terms.applies(allow, AFTER) for allow in allows))
            excluded: dict[_Obstacle, None] = {}
            self._exclude(formula, terms, self._obstacles, excluded)
            while (questions := terms.find_next()) is not None:
                obstacles = self._list_obstacles(questions)
                if obstacles == []:
                    return questions
                if obstacles is None:
                    # Nothing allows it: only allows tell where there is a gain.
                    self._refuse_contradiction(questions, is_one=bool(arrivals or allows))
                    self.needs_allows = True
                    return None
                self._refuse_contradiction(questions, is_one=excluded.keys() >= set(obstacles))
                self._exclude(formula, terms, obstacles, excluded)
                self._obstacles.update(excluded)
            return None

    def _refuse_contradiction(self, questions: AskedTwice, *, is_one: bool) -> None:
        if is_one:
            raise ProofContradiction(questions.later, "The solver says that this is a gain, and it is none:")

    def _build_terms(self, formula: Formula, number_of_subresources: int) -> ChangeTerms:
        terms = ChangeTerms(
            formula,
            self.change,
            self.person,
            self.privileges,
            self._list_holders(),
            number_of_subresources,
        )
        if self.person == self.allowance.actor:
            for entity, privileges in self.allowance.widened_places:
                formula.require(-terms.is_about(privileges, entity))
        return terms

    def _list_departures(self, formula: Formula, terms: ChangeTerms) -> list[int]:
        denies = self.sources.denies
        return _list_turns(formula, terms, denies, self._list_statements(AFTER, denies), (BEFORE, AFTER))

    def _list_arrivals(self, formula: Formula, terms: ChangeTerms, allows: Sequence[Statement]) -> list[int]:
        earlier = self._list_statements(BEFORE, allows) if self._was.is_active else frozenset[Statement]()
        return _list_turns(formula, terms, allows, earlier, (AFTER, BEFORE))

    def _list_statements(self, side: int, statements: Iterable[Statement]) -> frozenset[Statement]:
        """Return the statements that the policies of these have on a side."""
        policies = {statement.origin.policy for statement in statements}
        return frozenset(self.change.sides[side].snapshot.list_statements_of(policies))

    def _list_obstacles(self, questions: AskedTwice) -> list[_Obstacle] | None:
        """Return what keeps a question from being a gain: nothing if it is one; None if nothing allows it."""
        later = decide(self.change.after.snapshot, questions.later)
        if later.code is DecisionCode.IMPLICIT_DENY:
            return None
        if not later.is_allowed:
            return [(AFTER, statement) for statement in later.statements[:_MAX_OBSTACLES]]
        earlier = decide(self.change.before.snapshot, questions.earlier)
        statements = earlier.statements[:_MAX_OBSTACLES] if earlier.is_allowed else ()
        return [(BEFORE, statement) for statement in statements]

    def _exclude(
        self,
        formula: Formula,
        terms: ChangeTerms,
        obstacles: Iterable[_Obstacle],
        excluded: dict[_Obstacle, None],
    ) -> None:
        """Require that statements do not match; an earlier allow may, where a deny did that matches no more."""
        for side, statement in list(obstacles):
            if (side, statement) not in excluded:
                excluded[side, statement] = None
                departed = () if side == AFTER else (terms.applies(deny, BEFORE) for deny in self.sources.denies)
                formula.require(-terms.applies(statement, side), *departed)

    # -- parts --------------------------------------------------------------------------------------------------------

    @property
    def _was(self) -> Actor:
        return self.change.before.people[self.person]

    def _has_constraints(self) -> bool:
        return any(state.snapshot.has_constraints(self.privileges) for state in self.change.sides)

    def _count_subresources(self) -> int:
        """Return how many sub-resources a question needs at most: one to fail each constraint, one to pass.

        Every other sub-resource can be left out, and all that holds of the question still does.
        """
        failing = {
            statement.subresources
            for _, statement in self._obstacles
            if statement.effect is Effect.ALLOW and statement.subresources is not None
        }
        return len(failing) + any(deny.needs_subresource for deny in self.sources.denies)

    def _list_holders(self) -> tuple[Iterable[str], Iterable[str]]:
        """Return the URNs by which the person owned entities, and by which it does.

        Groups that nobody names are alike: of many, one stands for all that the person is in, or was, or both.
        """
        now, was = self.change.after.people[self.person].groups, self._was.groups
        kept_groups = now | was
        if len(kept_groups) > _MAX_HOLDERS:
            named_groups = frozenset(group for group in kept_groups if _is_named_owner(group, self.change))
            kinds = (now & was - named_groups, now - was - named_groups, was - now - named_groups)
            kept_groups = named_groups.union(*(sorted(kind)[:1] for kind in kinds))
        return sorted({self.person, *(was & kept_groups)}), sorted({self.person, *(now & kept_groups)})


class _PeopleKeys:
    """Keys by which people are alike: whoever has the same key shares every proof."""

    def __init__(self, change: KnownChange, allowed_actor: str) -> None:
        self._change = change
        self._allowed_actor = allowed_actor
        self._tokens: frozenset[str] | None = None
        self._has_members = any(GROUP_MEMBERSHIP in state.snapshot.all_tested_fields for state in change.sides)

    def build(self, person: str) -> object:
        """Return the key of somebody; nobody who changes, is named, or has an allowance shares one."""
        was, now = self._change.before.people[person], self._change.after.people[person]
        is_single = person == self._allowed_actor or was != now or person in self._change.owned_entities
        if is_single or self._is_named(person):
            return person
        if self._tokens is None:
            statements = chain.from_iterable(state.snapshot.statements for state in self._change.sides)
            self._tokens = frozenset[str]().union(*{statement.actors.tested_tokens for statement in statements})
        named_groups = frozenset(group for group in now.groups if _is_named_owner(group, self._change))
        # Whoever is in a group that nobody names can own through it, as by its own URN.
        return now.tokens & self._tokens, named_groups, now.groups if self._has_members else None

    def _is_named(self, urn: str) -> bool:
        return _is_named_owner(urn, self._change) or any(
            state.snapshot.names_value(URN, urn) for state in self._change.sides
        )


def _is_named_owner(urn: str, change: KnownChange) -> bool:
    """Whether a criterion on owners, or a known owner, is about this URN."""
    return any(
        state.snapshot.names_value(OWNER, urn)
        or any(owner.actor == urn for owners in state.owners.values() for owner in owners)
        for state in change.sides
    )


def _find_excepted(
    removed_denies: Iterable[Statement], added: Iterable[Statement]
) -> Mapping[Statement, frozenset[str]]:
    """Return the tokens that denies newly except, for those that stay as they are for everybody else."""
    twins = {_build_shape(statement): statement.actors for statement in added}
    excepted = {}
    for deny in removed_denies:
        twin = twins.get(_build_shape(deny))
        if twin is not None and deny.actors.tokens <= twin.tokens:
            tokens = twin.excluded_tokens - deny.actors.excluded_tokens
            if not any(map(is_relational, tokens)):
                excepted[deny] = tokens
    return excepted


def _build_shape(statement: Statement) -> object:
    """Return what a statement says but for whom."""
    return (
        statement.effect,
        statement.privileges,
        statement.resources,
        statement.subresources,
        statement.actor_conditions,
    )


def _find_changed_owners(change: KnownChange) -> frozenset[str]:
    """Return the URNs that own an entity on one side only, or as another type."""
    return frozenset(
        owner.actor
        for entity in change.owned_entities
        for owner in change.find_owners(BEFORE, entity) ^ change.find_owners(AFTER, entity)
    )


def _list_turns(
    formula: Formula,
    terms: ChangeTerms,
    statements: Iterable[Statement],
    others: frozenset[Statement],
    sides: tuple[int, int],
) -> list[int]:
    """Return the literals of statements that match on the first side, and not on the other one if they are there."""
    matching_side, other_side = sides
    return [
        formula.define_all([terms.applies(statement, matching_side), -terms.applies(statement, other_side)])
        if statement in others
        else terms.applies(statement, matching_side)
        for statement in statements
    ]


def _select_effect(statements: Iterable[Statement], effect: Effect) -> tuple[Statement, ...]:
    return tuple(statement for statement in statements if statement.effect is effect)


def _can_reach(match: ActorMatch, actor: Actor) -> bool:
    """Whether a clause can name somebody, as an owner if not otherwise."""
    return not match.tokens.isdisjoint(actor.tokens) or any(map(is_relational, match.tokens))
