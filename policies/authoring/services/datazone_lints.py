"""What is worth a second look in a Datazone policy that can be stored as it is (rules/datazone.md DZ-43, DZ-70).

A statement is compared with the others of its document and with those of all other active policies of its roles.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from policies.engine.errors import Problem
from policies.engine.families.datazone_resource_patterns import Pattern, Scope, expand, parse_pattern, unversioned
from policies.engine.model import Effect
from policies.engine.selectors import MAIN_BRANCH
from policies.models import Policy
from policies.pdp import active_policies, authorizer, users_by_actor_clause

#: A role lifts a restriction in practice when at least this part of those who are restricted hold it, too.
MOST = 0.5

#: Most pairs of statements that are compared for one document, and how many pairs a statement counts by itself: who
#: holds its roles is looked up in the database.
MAX_COMPARISONS = 50_000
_OWN_COMPARISONS = 50


@dataclass(frozen=True, slots=True)
class _Said:
    """A statement as it is compared; `policy` is the name of its policy, empty for the draft itself."""

    policy: str
    index: int
    effect: Effect
    roles: frozenset[str]
    pattern: Pattern
    actions: frozenset[str]
    branch: str
    is_restricted: bool

    @property
    def place(self) -> str:
        """Where it stands in its document."""
        return f"/statements/{self.index}"

    def contains(self, other: "_Said") -> bool:
        """Whether everything that the other is about, for everybody it is for, this one is about as well."""
        return (
            self.branch == other.branch
            and other.roles <= self.roles
            and other.actions <= self.actions
            and self.pattern.contains(other.pattern)
        )

    def meets(self, other: "_Said") -> bool:
        """Whether some question is about both, whoever asks."""
        return (
            self.branch == other.branch
            and not self.actions.isdisjoint(other.actions)
            and self.pattern.overlaps(other.pattern)
        )


def lints(*, document: Mapping[str, Any], urn: str | None) -> Iterator[Problem]:
    """Return what is worth a look in a checked document; `urn` is that of the policy it replaces, if there is one."""
    own = _read("", document)
    others = [
        said
        for policy in active_policies.active_policies().filter(family=Policy.Family.DATAZONE).exclude(urn=urn or "")
        for said in _read(policy.name, policy.document)
    ]
    if not document.get("roles"):
        yield Problem("roles.none", "/roles", "Without roles this policy applies to nobody.")
    for said in own:
        yield from _alone(said)
    # What is compared with all others costs as much as there are pairs.
    comparable = own[: MAX_COMPARISONS // (len(own) + len(others) + _OWN_COMPARISONS)]
    branches = {one.branch for one in others}
    for said in comparable:
        yield from _beside(said, [one for one in own if one is not said] + others)
        yield from _of_branch(said, branches)
    if len(comparable) < len(own):
        place = own[len(comparable)].place
        detail = "There are too many statements: from here on they are not compared with each other and other policies."
        yield Problem("statements.many", place, detail)
    yield from _of_ids(own)


def _read(policy: str, document: Mapping[str, Any]) -> list[_Said]:
    roles = frozenset(document.get("roles") or ())
    found = []
    for index, item in enumerate(document["statements"]):
        pattern = parse_pattern(item["resource"], "")
        if isinstance(pattern, Pattern):
            found.append(
                _Said(
                    policy=policy,
                    index=index,
                    effect=Effect(item["effect"]),
                    roles=roles,
                    pattern=pattern,
                    actions=expand(item["actions"]),
                    branch=item.get("branch") or MAIN_BRANCH,
                    is_restricted=bool(item.get("extra_constraints")),
                )
            )
    return found


def _alone(said: _Said) -> Iterator[Problem]:
    if said.pattern.scope is Scope.CREATION and f"{said.pattern.type}:create" not in said.actions:
        detail = f"A bare type covers only making new ones, but {said.pattern.type}:create is not among the actions."
        yield Problem("actions.without_create", f"{said.place}/actions", detail)
    is_everything = said.pattern.scope is Scope.EVERYTHING and said.actions >= expand(["*:*"])
    if is_everything and said.effect is Effect.ALLOW:
        yield Problem("statement.broad", said.place, "This allows everything on everything; name types or a project.")
    if said.branch != MAIN_BRANCH and said.pattern.type in unversioned():
        detail = f"A {said.pattern.type} has no branches: this statement never matches."
        yield Problem("branch.never", f"{said.place}/branch", detail)


def _beside(said: _Said, others: list[_Said]) -> Iterator[Problem]:
    allows = [one for one in others if one.effect is Effect.ALLOW]
    if said.effect is Effect.DENY:
        if said.roles and not _counts(said, [one for one in allows if one.meets(said)]):
            detail = "Nothing allows what this denies to anybody it is for: without it the answer is no as well."
            yield Problem("statement.needless_deny", said.place, detail)
        return
    if shadow := next((one for one in others if one.effect is Effect.DENY and one.contains(said)), None):
        yield Problem("statement.shadowed", said.place, f"{_where(shadow)} denies all of this, so it allows nothing.")
    covering = (one for one in allows if not one.is_restricted and one.contains(said) and _is_first(one, said))
    if not said.is_restricted and (cover := next(covering, None)):
        yield Problem("statement.covered", said.place, f"{_where(cover)} allows all of this already.")
    if said.is_restricted:
        yield from _of_restriction(said, [one for one in allows if not one.roles <= said.roles and one.meets(said)])


def _counts(deny: _Said, allows: Iterable[_Said]) -> bool:
    """Whether somebody whom the deny is for is allowed by one of these: through the same role, or another they hold."""
    roles = frozenset[str]().union(*(one.roles for one in allows))
    return not roles.isdisjoint(deny.roles) or not _holders(roles).isdisjoint(_holders(deny.roles))


def _is_first(one: _Said, said: _Said) -> bool:
    """Of two statements that say the same in one document, the first is kept."""
    return one.policy != said.policy or not said.contains(one) or one.index < said.index


def _of_restriction(said: _Said, meeting: Iterable[_Said]) -> Iterator[Problem]:
    """Note what other roles make of a restriction, for those who hold both (DZ-56)."""
    holders = _holders(said.roles)
    if not holders:
        return
    for one in meeting:
        both = holders & _holders(one.roles - said.roles)
        if one.is_restricted and both:
            detail = f"{_where(one)} shows another part of it to {len(both)} of the same people; the parts add up."
            yield Problem("restriction.several", said.place, detail)
        elif not one.is_restricted and one.pattern.contains(said.pattern) and len(both) >= MOST * len(holders):
            detail = f"{_where(one)} lifts this for {len(both)} of the {len(holders)} people it is for."
            yield Problem("restriction.lifted", said.place, detail)


def _holders(roles: frozenset[str]) -> frozenset[str]:
    return (
        frozenset(users_by_actor_clause.reached(tokens=roles).values_list("urn", flat=True)) if roles else frozenset()
    )


def _of_branch(said: _Said, branches: Collection[str]) -> Iterator[Problem]:
    """Note a branch that only this policy names: nobody registers branches, so a typo shows nowhere else."""
    if said.branch != MAIN_BRANCH and said.branch not in branches:
        detail = f"No other policy speaks of a branch {said.branch!r}; if there is none, this statement never matches."
        yield Problem("branch.unknown", f"{said.place}/branch", detail)


def _of_ids(own: Iterable[_Said]) -> Iterator[Problem]:
    named = [
        (said.place, pair)
        for said in own
        for pair in ((said.pattern.type, said.pattern.id), ("project", said.pattern.project))
        if pair[1]
    ]
    known = authorizer.facets().find(objects={pair for _, pair in named}) if named else {}
    for place, (kind, identifier) in named:
        if (kind, identifier) not in known:
            yield Problem("id.unknown", f"{place}/resource", f"The catalog has no {kind} with the id {identifier}.")


def _where(said: _Said) -> str:
    return f"Statement {said.index + 1} of {said.policy or 'this policy'}"
