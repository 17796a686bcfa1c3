"""Gathers the facts a question needs and asks the engine. Every page, API, list and door asks here.

The three questions: may this actor (`answer`), on what (`visible`), and who may (`actors_with`). A fact that cannot be
loaded raises; nothing is allowed meanwhile.
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

from django.conf import settings
from django.utils.module_loading import import_string

from policies.engine import families
from policies.engine.alternatives import limit_alternatives
from policies.engine.evaluate import Relatives, decide_requirement
from policies.engine.model import SYSTEM_ACTOR, Actor, Code, Coverage, Decision, Missing, Statement
from policies.engine.ports import Directory, FacetSource, Grants, GrantSource
from policies.engine.requested_columns import narrowed
from policies.engine.requirements import SELF, Requirement, alternatives
from policies.engine.selectors import ANY_SUBRESOURCE, BRANCH, CREATION, MAIN_BRANCH, PROJECT, YES, Resource
from policies.engine.snapshot import Snapshot
from policies.errors import Forbidden
from policies.pdp import decision_log, display_names, snapshot_store
from policies.pdp.fact_cache import KeptFacets
from policies.propagation import metrics

#: The actor as which management commands and the bootstrap act.
SYSTEM = Actor(SYSTEM_ACTOR)

#: Who reads what is answered now; nobody outside of requests, where the system does.
_READER: ContextVar[Callable[[], Actor] | None] = ContextVar("reader", default=None)

#: Relatives that are assembled from others, and those they come from: a side of a logical parent link is the entity
#: itself and, when it is a schema field, the dataset it belongs to.
_SIDES = {"child": SELF, "parent": "parent"}

#: Relatives of which a schema field that the question names stands for its dataset (stored ones already do).
_STANDING = frozenset({"subjects"})


@dataclass(frozen=True, slots=True)
class Asked:
    """The resource of a question: a URN, or a type alone (`urn` empty). `type` empty: what the catalog or URN says.

    `project` is the object id of the project in which something of the type is to be made; that of an entity comes from
    the catalog. `branch` empty is main. `columns` and `path` narrow the question to part of the resource. `said` are
    facts of the resource, fields with their values, that count for this question in place of those that are known.
    """

    urn: str = ""
    type: str = ""
    project: str = ""
    branch: str = ""
    columns: tuple[str, ...] | None = None
    path: str | None = None
    said: tuple[tuple[str, frozenset[str]], ...] = ()


@dataclass(frozen=True, slots=True)
class Ask:
    """One question before its facts are gathered.

    `relatives` are URNs named by the question itself (the domains of a product to be created); relatives that the
    requirement mentions and the question does not name come from the catalog. `operation` is what the caller calls it,
    for the decision log.
    """

    requirement: Requirement
    resource: Asked | None = None
    subresources: tuple[str, ...] = ()
    relatives: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    operation: str = ""


def answer(*, actor: Actor, ask: Ask, at_least: int = 0) -> Decision:
    """Answer one question."""
    return answer_many(asks=[(actor, ask)], at_least=at_least)[0]


def answer_many(*, asks: Sequence[tuple[Actor, Ask]], at_least: int = 0) -> list[Decision]:
    """Answer questions in their order, loading the facts of all of them at once.

    Raises Unavailable when the version asked for is not there.
    """
    decisions = _answers(asks, at_least)
    metrics.decided((ask.requirement for _, ask in asks), decisions)
    return decisions


def _answers(asks: Sequence[tuple[Actor, Ask]], at_least: int) -> list[Decision]:
    if not settings.AUTH_POLICIES_ENABLED:
        version = snapshot_store.current(at_least=at_least).version
        return [Decision(is_allowed=True, code=Code.POLICIES_DISABLED, version=version) for _ in asks]
    if not at_least and all(actor.urn == SYSTEM_ACTOR for actor, _ in asks):
        return [Decision(is_allowed=True, code=Code.SYSTEM_ACTOR) for _ in asks]
    snapshot = snapshot_store.current(at_least=at_least)
    facts = _Facts(snapshot, [ask for _, ask in asks])
    granted = _Granted(asks, facts)
    return [facts.decide(actor, ask, granted.to(actor, ask)) for actor, ask in asks]


def answer_logged(*, asks: Sequence[tuple[Actor, Ask]], at_least: int = 0) -> list[Decision]:
    """Answer like `answer_many`, and note the answers in the decision log.

    For what somebody asks through a door or is about to do; not for what a page looks up to draw its buttons.
    """
    began = time.perf_counter()
    decisions = answer_many(asks=asks, at_least=at_least)
    wanted = decision_log.wanted(decisions)
    found = decision_log.here() if wanted else None
    if found is not None:
        keeper, call = found
        each = (time.perf_counter() - began) * 1000 / max(len(asks), 1)
        for place in wanted:
            (actor, ask), decision = asks[place], decisions[place]
            urn, kind = (ask.resource.urn, ask.resource.type) if ask.resource is not None else ("", "")
            asked = (ask.operation, ask.requirement, urn, kind, ask.subresources)
            keeper.note(decision_log.Entry(call, actor.urn, *asked, decision, each))
    return decisions


def require(
    *,
    by: Actor,
    any_of: Iterable[Iterable[str]] = (),
    requirement: Requirement | None = None,
    resource: Asked | None = None,
    subresources: Sequence[str] = (),
    relatives: Mapping[str, tuple[str, ...]] | None = None,
) -> Decision:
    """Answer like `answer`, or raise Forbidden naming what is missing."""
    ask = Ask(requirement or alternatives(any_of), resource, tuple(subresources), relatives or {})
    (decision,) = answer_logged(asks=[(by, ask)])
    if not decision.is_allowed:
        raise refusal_of(decision)
    return decision


def refusal_of(decision: Decision) -> Forbidden:
    """Return what a service raises for a decision that is a refusal."""
    return Forbidden(decision.missing, missing_any=decision.missing_any)


def let_pass(*, by: Actor, any_of: tuple[tuple[str, ...], ...]) -> None:
    """Raise Forbidden unless the actor holds one of these lists of platform privileges; for what each call asks again.

    Whether it does follows from the policies and the actor alone, so it is asked once for each pair of them.
    """
    passed = _passed.setdefault(snapshot_store.current(), set())
    if not settings.AUTH_POLICIES_ENABLED or (by, any_of) in passed:
        return
    require(by=by, any_of=any_of)
    if len(passed) >= _PASSED:
        passed.clear()
    passed.add((by, any_of))


#: Who passed which lists under which policies; forgotten with them.
_passed: WeakKeyDictionary[Snapshot, set[tuple[Actor, tuple[tuple[str, ...], ...]]]] = WeakKeyDictionary()
_PASSED = 1000


def find_refusal(*, by: Actor, asks: Sequence[Ask]) -> Forbidden | None:
    """Return the refusal that names everything the actor lacks for all of these together; None when all are allowed.

    A refusal that no privilege would mend (a suspended actor) is raised.
    """
    refused = [one for one in answer_logged(asks=[(by, ask) for ask in asks]) if not one.is_allowed]
    for decision in refused:
        if not decision.missing:
            raise Forbidden((), f"{by.urn} may not act: {decision.code.value}.")
    return Forbidden.join(refusal_of(one) for one in refused) if refused else None


def missing_many(*, by: Actor, asks: Sequence[Ask]) -> tuple[Missing, ...]:
    """Return the privileges that `find_refusal` finds missing; empty when all are allowed."""
    refusal = find_refusal(by=by, asks=asks)
    return () if refusal is None else refusal.missing


def visible(*, actor: Actor, privilege: str, at_least: int = 0) -> Coverage:
    """Return what the actor may use the privilege on, as selectors that `coverage_sql` turns into one WHERE."""
    snapshot = snapshot_store.current(at_least=at_least)
    if not settings.AUTH_POLICIES_ENABLED:
        return Coverage(actor=actor, version=snapshot.version, is_everything=True)
    coverage = snapshot.coverage(actor, privilege)
    has_say = families.is_granted([privilege]) and actor.is_active
    return replace(coverage, granted=privilege) if has_say and not coverage.is_everything else coverage


def resource_for(*, asked: Asked, snapshot: Snapshot, privileges: Collection[str]) -> Resource:
    """Return one resource with every facet that statements on these privileges test."""
    fields = snapshot.fields_for(privileges)
    return _resource(asked, _load({asked.urn} - {""}, fields), fields)


def facts_for(
    *, asks: Sequence[Ask], snapshot: Snapshot
) -> Callable[[Ask], tuple[Resource | None, tuple[Resource, ...]]]:
    """Load the facts of several questions at once; return what gives the resource and sub-resources of each."""
    facts = _Facts(snapshot, asks)
    return lambda ask: (facts.relatives(ask)[SELF][0], facts.subresources(ask))


def granted_on(*, urns: Collection[str]) -> Grants:
    """Return every grant that reaches one of these entities, whoever holds it."""
    source: GrantSource = _port("GrantSource")
    return source.statements(holders=None, urns=urns)


def grantors(*, urns: Collection[str]) -> Mapping[str, tuple[str, ...]]:
    """Return who could give privileges on each of these entities."""
    source: GrantSource = _port("GrantSource")
    return source.grantors(urns=urns)


def kept_alone(*, holder: str, limit: int) -> Sequence[str]:
    """Return the entities on which nobody but this user, group or role could give privileges, up to a limit."""
    source: GrantSource = _port("GrantSource")
    return source.kept_alone(holder=holder, limit=limit)


def facets() -> FacetSource:
    """Return the source of facts that settings.POLICY_PORTS names, and what is kept of it."""
    return _kept_facets()


@contextmanager
def read_by(reader: Callable[[], Actor]) -> Iterator[None]:
    """Let the directory name and list, while this lasts, what this reader may view; asked for when that is wanted."""
    token = _READER.set(reader)
    try:
        yield
    finally:
        _READER.reset(token)


def directory() -> Directory:
    """Return the directory that settings.POLICY_PORTS names, as whoever reads the answer may see it."""
    reader = _READER.get() if settings.VIEW_AUTHORIZATION_ENABLED else None
    found: Directory = _named("Directory")(viewer=None if reader is None else reader())
    return found


def names(*, urns: Collection[str]) -> dict[str, str]:
    """Return the display names of anything with a URN; what has none, or may not be viewed, is left out."""
    known = display_names.names(urns=urns)
    rest = [urn for urn in urns if urn not in known]
    return {**directory().names(urns=rest), **known} if rest else known


@cache
def _kept_facets() -> FacetSource:
    return KeptFacets(_port("FacetSource"))


@cache
def _port(name: str) -> Any:
    return _named(name)()


@cache
def _named(name: str) -> Any:
    return import_string(settings.POLICY_PORTS[name])


class _Facts:
    """The facts of several questions, loaded together."""

    def __init__(self, snapshot: Snapshot, asks: Sequence[Ask]) -> None:
        self._snapshot = snapshot
        privileges = frozenset[str]().union(*(ask.requirement.privileges for ask in asks))
        self._fields = snapshot.fields_for(privileges) | snapshot.subfields_for(privileges)
        self._related = _related(asks)
        urns = {urn for ask in asks for urns in self.urns(ask).values() for urn in urns}
        urns |= {urn for ask in asks for urn in ask.subresources if urn != ANY_SUBRESOURCE}
        self._loaded = _load(urns, self._fields)

    def decide(self, actor: Actor, ask: Ask, grants: Sequence[Statement]) -> Decision:
        """Answer one of the questions.

        One about columns or a path is put for each alternative apart: what one shows too little of, another may show.
        """
        asked = ask.resource
        relatives, subresources = self.relatives(ask), self.subresources(ask)
        if asked is None or (asked.columns is None and asked.path is None):
            return decide_requirement(self._snapshot, actor, ask.requirement, relatives, subresources, grants)
        decisions = [
            narrowed(
                decide_requirement(self._snapshot, actor, Requirement((alternative,)), relatives, subresources, grants),
                columns=asked.columns,
                path=asked.path,
            )
            for alternative in ask.requirement.any_of or ((),)
        ]
        allowed = next((one for one in decisions if one.is_allowed), None)
        if allowed is not None:
            return allowed
        lists = limit_alternatives(one for decision in decisions for one in decision.missing_any)
        return decisions[0]._replace(missing_any=lists)

    def relatives(self, ask: Ask) -> Relatives:
        """Return the resources of each relative that the question's requirement mentions."""
        found: dict[str, Sequence[Resource | None]] = {
            name: [self._loaded[urn] for urn in urns] for name, urns in self.urns(ask).items() if name != SELF
        }
        found[SELF] = [None if ask.resource is None else _resource(ask.resource, self._loaded, self._fields)]
        return found

    def subresources(self, ask: Ask) -> tuple[Resource, ...]:
        """Return the sub-resources of a question."""
        return tuple(_subresource(urn, self._loaded) for urn in ask.subresources)

    def urns(self, ask: Ask) -> dict[str, tuple[str, ...]]:
        """Return the URNs of each relative that the question's requirement mentions."""
        own = () if ask.resource is None or not ask.resource.urn else (ask.resource.urn,)
        found: dict[str, tuple[str, ...]] = {SELF: own}
        for name in ask.requirement.others:
            base = own if _SIDES.get(name) == SELF else ask.relatives.get(name)
            if base is None:
                base = tuple(urn for one in own for urn in self._related.get(one, {}).get(name, ()))
            if name in _SIDES:
                base = tuple(urn for one in base for urn in (one, *self._related.get(one, {}).get("dataset", ())))
            if name in _STANDING:
                base = tuple(urn for one in base for urn in self._related.get(one, {}).get("dataset") or (one,))
            found[name] = base
        return found


class _Granted:
    """The grants that have a say in several questions, loaded together; none are looked up where none has."""

    def __init__(self, asks: Sequence[tuple[Actor, Ask]], facts: _Facts) -> None:
        self._facts = facts
        about = [(actor, ask) for actor, ask in asks if families.is_granted(ask.requirement.privileges)]
        urns = {urn for _, ask in about for named in facts.urns(ask).values() for urn in named}
        holders = {holder for actor, _ in about for holder in actor.holders | actor.roles}
        source: GrantSource = _port("GrantSource")
        self._found: Grants = source.statements(holders=holders, urns=urns) if urns else {}

    def to(self, actor: Actor, ask: Ask) -> Sequence[Statement]:
        """Return the actor's grants that reach what one of the questions is about."""
        if not self._found:
            return ()
        reaching = [self._found.get(urn, {}) for named in self._facts.urns(ask).values() for urn in named]
        holders = sorted(actor.holders | actor.roles)
        return [one for found in reaching for holder in holders if holder in found for one in found[holder]]


def _related(asks: Sequence[Ask]) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """Look up in the catalog the relatives that requirements mention and questions do not name."""
    urns: set[str] = set()
    wanted: set[str] = set()
    for ask in asks:
        if not ask.requirement.others:
            continue
        open_names = ask.requirement.others - ask.relatives.keys()
        sides = ask.requirement.others & (_SIDES.keys() | _STANDING)
        wanted |= {"dataset"} if sides else set()
        wanted |= open_names - {"child"}
        if (open_names or sides) and ask.resource is not None and ask.resource.urn:
            urns.add(ask.resource.urn)
        urns.update(urn for name in sides for urn in ask.relatives.get(name, ()))
    return facets().relatives(urns=urns, names=wanted) if urns else {}


def _subresource(urn: str, loaded: Mapping[str, Resource]) -> Resource:
    return Resource(urn, "", {}) if urn == ANY_SUBRESOURCE else loaded[urn]


def _load(urns: Collection[str], fields: Collection[str]) -> Mapping[str, Resource]:
    return facets().load(urns=urns, fields=fields) if urns else {}


def _resource(asked: Asked, loaded: Mapping[str, Resource], fields: Collection[str]) -> Resource:
    """Return the resource of a question: facts of the entity, and what the question itself says (rules/datazone.md).

    A type alone has empty facets (rules/datahub.md a.3), but that it is about making one, and in which project.
    """
    if not asked.urn:
        facts = dict.fromkeys(fields, frozenset[str]()) | dict(asked.said)
        facts |= {CREATION: frozenset((YES,)), BRANCH: frozenset((_branch(asked, asked.type),))}
        facts |= {PROJECT: frozenset((asked.project,))} if asked.project else {}
        return Resource("", asked.type, facts)
    found = loaded[asked.urn]
    kind, branch = asked.type or found.type, _branch(asked, found.type)
    if kind == found.type and branch == MAIN_BRANCH and not asked.said:
        return found
    return Resource(found.urn, kind, {**found.facets, BRANCH: frozenset((branch,)), **dict(asked.said)}, found.owners)


def _branch(asked: Asked, kind: str) -> str:
    """Return the branch a question is about; what has no versions is always on main (DZ-41, DZ-43)."""
    return MAIN_BRANCH if kind in families.unversioned() else asked.branch or MAIN_BRANCH
