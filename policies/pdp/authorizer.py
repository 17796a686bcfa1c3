"""The authorizer: loads the facts of a question and has the engine decide. Every page, API, list and protocol uses it.

Three questions: may this actor (`answer`), on which entities (`compute_coverage`), and who may
(`inverse_queries.find_allowed_actors`). A fact that cannot be loaded raises an error; nothing is allowed then.
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from policies.engine import families
from policies.engine.alternatives import limit_alternatives
from policies.engine.evaluate import Relatives, decide_requirement
from policies.engine.model import SYSTEM_ACTOR, Actor, Coverage, Decision, DecisionCode, MissingPrivilege, Statement
from policies.engine.ports import Directory, FacetSource, GrantsByEntity, GrantSource
from policies.engine.requested_columns import apply_requested_columns
from policies.engine.requirements import SELF, Requirement, any_of_requirement
from policies.engine.selectors import ANY_SUBRESOURCE, BRANCH, CREATION, MAIN_BRANCH, PROJECT, YES, Resource
from policies.engine.snapshot import Snapshot
from policies.errors import Forbidden
from policies.pdp import decision_log, display_names, per_snapshot, snapshot_store
from policies.pdp.fact_cache import CachingFacetSource
from policies.propagation import metrics

#: The actor of management commands and the bootstrap.
SYSTEM = Actor(SYSTEM_ACTOR)

#: Returns the viewer of the current answer; None outside of requests, where the system is the viewer.
_VIEWER: ContextVar[Callable[[], Actor] | None] = ContextVar("viewer", default=None)

#: Relatives that are assembled from others, and the relative each comes from: a side of a logical parent link is the
#: entity itself and, if that is a schema field, also the dataset it belongs to.
_LINK_SIDES = {"child": SELF, "parent": "parent"}

#: Relatives for which a schema field named by the question is replaced by its dataset (stored ones already are).
_DATASET_RELATIVES = frozenset({"subjects"})


@dataclass(frozen=True, slots=True)
class ResourceRef:
    """The resource of a question: a URN, or a type alone (`urn` empty). `type` empty: the type from catalog or URN.

    `project` is the object id of the project in which an entity of the type is to be created; the project of an
    existing entity comes from the catalog. `branch` empty is main. `columns` and `path` narrow the question to part of
    the resource. `fact_overrides` are (field, values) pairs that replace the stored facts for this question.
    """

    urn: str = ""
    type: str = ""
    project: str = ""
    branch: str = ""
    columns: tuple[str, ...] | None = None
    path: str | None = None
    fact_overrides: tuple[tuple[str, frozenset[str]], ...] = ()


@dataclass(frozen=True, slots=True)
class AccessRequest:
    """One question before its facts are loaded.

    `relatives` are URNs that the question itself names (the domains of a product to be created); relatives that the
    requirement mentions and the question does not name come from the catalog. `operation` is the caller's name for the
    question, for the decision log.
    """

    requirement: Requirement
    resource: ResourceRef | None = None
    subresources: tuple[str, ...] = ()
    relatives: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    operation: str = ""


def answer(*, actor: Actor, request: AccessRequest, at_least: int = 0) -> Decision:
    """Return the decision on one question; raises as `answer_many`."""
    return answer_many(requests=[(actor, request)], at_least=at_least)[0]


def answer_many(
    *, requests: Sequence[tuple[Actor, AccessRequest]], at_least: int = 0, snapshot: Snapshot | None = None
) -> list[Decision]:
    """Return the decisions on questions, in their order; the facts of all are loaded together.

    They come from `snapshot`, else from the current one. Raises Unavailable if version `at_least` does not exist here,
    and the error of a database that does not answer.
    """
    decisions = _decide_all(requests, at_least, snapshot)
    metrics.count_decisions((request.requirement for _, request in requests), decisions)
    return decisions


def _decide_all(
    requests: Sequence[tuple[Actor, AccessRequest]], at_least: int, snapshot: Snapshot | None
) -> list[Decision]:
    is_enabled = settings.AUTH_POLICIES_ENABLED
    if is_enabled and snapshot is None and not at_least and all(actor.urn == SYSTEM_ACTOR for actor, _ in requests):
        return [Decision(is_allowed=True, code=DecisionCode.SYSTEM_ACTOR) for _ in requests]
    if snapshot is None:
        snapshot = snapshot_store.get_current(at_least=at_least)
    if not is_enabled:
        return [
            Decision(is_allowed=True, code=DecisionCode.POLICIES_DISABLED, version=snapshot.version) for _ in requests
        ]
    facts = _RequestFacts(snapshot, [request for _, request in requests])
    grant_loader = _GrantLoader(requests, facts)
    return [facts.decide(actor, request, grant_loader.applicable_grants(actor, request)) for actor, request in requests]


def answer_and_log(
    *, requests: Sequence[tuple[Actor, AccessRequest]], at_least: int = 0, snapshot: Snapshot | None = None
) -> list[Decision]:
    """Return the decisions of `answer_many`, and enqueue a sample of them for the decision log.

    For questions that arrive through a channel or precede an action; not for questions of a page about its own buttons.
    """
    started_at = time.perf_counter()
    decisions = answer_many(requests=requests, at_least=at_least, snapshot=snapshot)
    log_decisions(requests, decisions, seconds=(time.perf_counter() - started_at) / max(len(requests), 1))
    return decisions


def log_decisions(
    requests: Sequence[tuple[Actor, AccessRequest]], decisions: Sequence[Decision], *, seconds: float
) -> None:
    """Enqueue a sample of answered decisions for the decision log; each took this many seconds."""
    indexes = decision_log.sample_indexes(decisions)
    log_context = decision_log.current_context() if indexes else None
    if log_context is not None:
        log_writer, request_context = log_context
        for index in indexes:
            (actor, request), decision = requests[index], decisions[index]
            urn, resource_type = (
                (request.resource.urn, request.resource.type) if request.resource is not None else ("", "")
            )
            question_fields = (request.operation, request.requirement, urn, resource_type, request.subresources)
            log_writer.enqueue(
                decision_log.Entry(request_context, actor.urn, *question_fields, decision, seconds * 1000)
            )


def require(
    *,
    by: Actor,
    any_of: Iterable[Iterable[str]] = (),
    requirement: Requirement | None = None,
    resource: ResourceRef | None = None,
    subresources: Sequence[str] = (),
    relatives: Mapping[str, tuple[str, ...]] | None = None,
) -> Decision:
    """Return the decision on a question if it is allowed, else raise Forbidden naming the missing privileges."""
    request = AccessRequest(requirement or any_of_requirement(any_of), resource, tuple(subresources), relatives or {})
    (decision,) = answer_and_log(requests=[(by, request)])
    if not decision.is_allowed:
        raise build_refusal(decision)
    return decision


def build_refusal(decision: Decision) -> Forbidden:
    """Return the Forbidden that a service raises for a decision that denies."""
    return Forbidden(decision.missing, missing_any=decision.missing_any)


def require_cached(*, by: Actor, any_of: tuple[tuple[str, ...], ...]) -> None:
    """Raise Forbidden unless the actor holds one of these lists of platform privileges; for checks made at every call.

    The result depends on the policies and the actor only, so it is computed once for each pair of them.
    """
    if settings.AUTH_POLICIES_ENABLED:
        per_snapshot.memoize((__name__, by, any_of), lambda: require(by=by, any_of=any_of).is_allowed)


def find_refusal(*, by: Actor, requests: Sequence[AccessRequest]) -> Forbidden | None:
    """Return one Forbidden with everything the actor lacks for all these requests; None if all are allowed.

    Raises Forbidden at once for a denial that no privilege would change (a suspended actor).
    """
    denials = [
        denial for denial in answer_and_log(requests=[(by, request) for request in requests]) if not denial.is_allowed
    ]
    for decision in denials:
        if not decision.missing:
            raise Forbidden((), f"{by.urn} may not act: {decision.code.value}.")
    return Forbidden.join(build_refusal(denial) for denial in denials) if denials else None


def find_missing_privileges(*, by: Actor, requests: Sequence[AccessRequest]) -> tuple[MissingPrivilege, ...]:
    """Return the missing privileges of `find_refusal`; empty if all requests are allowed."""
    refusal = find_refusal(by=by, requests=requests)
    return () if refusal is None else refusal.missing


def compute_coverage(*, actor: Actor, privilege: str, at_least: int = 0) -> Coverage:
    """Return the resources on which the actor may use the privilege; `coverage_sql` turns them into one WHERE."""
    snapshot = snapshot_store.get_current(at_least=at_least)
    if not settings.AUTH_POLICIES_ENABLED:
        return Coverage(actor=actor, version=snapshot.version, is_everything=True)
    coverage = snapshot.compute_coverage(actor, privilege)
    may_hold_grants = families.is_granted([privilege]) and actor.is_active
    return (
        replace(coverage, granted_privilege=privilege) if may_hold_grants and not coverage.is_everything else coverage
    )


def load_resource(*, resource: ResourceRef, snapshot: Snapshot, privileges: Collection[str]) -> Resource:
    """Return one resource with every facet that statements on these privileges test."""
    fields = snapshot.tested_fields(privileges)
    return _build_resource(resource, _load_resources({resource.urn} - {""}, fields), fields)


def load_request_facts(
    *, requests: Sequence[AccessRequest], snapshot: Snapshot
) -> Callable[[AccessRequest], tuple[Resource | None, tuple[Resource, ...]]]:
    """Load the facts of several questions; return a function from a request to (resource, sub-resources)."""
    facts = _RequestFacts(snapshot, requests)
    return lambda request: (facts.relatives(request)[SELF][0], facts.subresources(request))


def load_grants(*, urns: Collection[str]) -> GrantsByEntity:
    """Return every grant that covers one of these entities, as entity URN → holder → statements, for all holders."""
    return _grant_source().load_statements(holders=None, urns=urns)


def load_grantors(*, urns: Collection[str]) -> Mapping[str, tuple[str, ...]]:
    """Return the users, groups and roles that may give privileges on each of these entities, by entity URN."""
    return _grant_source().load_grantors(urns=urns)


def list_sole_administered(*, holder: str, limit: int) -> tuple[Sequence[str], bool]:
    """Return entities on which only this user, group or role could give privileges, and whether these are all.

    No more than `limit` of the entities that it administers are examined.
    """
    return _grant_source().list_sole_administered(holder=holder, limit=limit)


@cache
def facet_source() -> FacetSource:
    """Return the facet source that settings.POLICY_PORTS names, behind the cache of this process."""
    return CachingFacetSource(_import_port("FacetSource")())


@contextmanager
def bind_viewer(get_viewer: Callable[[], Actor]) -> Iterator[None]:
    """Restrict the directory, inside the block, to entities that this viewer may view; called only if needed."""
    token = _VIEWER.set(get_viewer)
    try:
        yield
    finally:
        _VIEWER.reset(token)


def directory() -> Directory:
    """Return the directory that settings.POLICY_PORTS names, restricted to what the bound viewer may view."""
    get_viewer = _VIEWER.get() if settings.VIEW_AUTHORIZATION_ENABLED else None
    viewer_directory: Directory = _import_port("Directory")(viewer=None if get_viewer is None else get_viewer())
    return viewer_directory


def load_names(*, urns: Collection[str]) -> dict[str, str]:
    """Return URN → display name for any kind of URN; URNs without a name or hidden from the viewer are left out."""
    names_by_urn = display_names.load_names(urns=urns)
    other_urns = [urn for urn in urns if urn not in names_by_urn]
    return {**directory().load_names(urns=other_urns), **names_by_urn} if other_urns else names_by_urn


@cache
def _grant_source() -> GrantSource:
    source: GrantSource = _import_port("GrantSource")()
    return source


@cache
def _import_port(name: str) -> Any:
    return import_string(settings.POLICY_PORTS[name])


class _RequestFacts:
    """The facts of several questions, loaded together."""

    def __init__(self, snapshot: Snapshot, requests: Sequence[AccessRequest]) -> None:
        self._snapshot = snapshot
        privileges = frozenset[str]().union(*(request.requirement.privileges for request in requests))
        self._fields = snapshot.tested_fields(privileges) | snapshot.tested_subfields(privileges)
        related_urns = _load_related_urns(requests)
        # By identity: requests contain mappings, so they have no hash. Keeping them keeps their identities.
        self._requests = requests
        self._urns_by_request = {id(request): _resolve_relative_urns(request, related_urns) for request in requests}
        urns = {urn for request in requests for urn in self.list_urns(request)}
        urns |= {urn for request in requests for urn in request.subresources if urn != ANY_SUBRESOURCE}
        self._resources = _load_resources(urns, self._fields)

    def decide(self, actor: Actor, request: AccessRequest, grants: Sequence[Statement]) -> Decision:
        """Return the decision on one of the questions.

        A question about columns or a path is decided for each alternative separately: where one alternative shows too
        little, another may show enough.
        """
        resource = request.resource
        relatives, subresources = self.relatives(request), self.subresources(request)
        if resource is None or (resource.columns is None and resource.path is None):
            return decide_requirement(self._snapshot, actor, request.requirement, relatives, subresources, grants)
        decisions = [
            apply_requested_columns(
                decide_requirement(self._snapshot, actor, Requirement((alternative,)), relatives, subresources, grants),
                columns=resource.columns,
                path=resource.path,
            )
            for alternative in request.requirement.any_of or ((),)
        ]
        allowed_decision = next((item for item in decisions if item.is_allowed), None)
        if allowed_decision is not None:
            return allowed_decision
        alternatives_to_grant = limit_alternatives(item for decision in decisions for item in decision.missing_any)
        return decisions[0]._replace(missing_any=alternatives_to_grant)

    def relatives(self, request: AccessRequest) -> Relatives:
        """Return relative name → resources, for each relative that the request's requirement mentions."""
        resources_by_relative: dict[str, Sequence[Resource | None]] = {
            name: [self._resources[urn] for urn in urns]
            for name, urns in self._urns_by_request[id(request)].items()
            if name != SELF
        }
        resources_by_relative[SELF] = [
            None if request.resource is None else _build_resource(request.resource, self._resources, self._fields)
        ]
        return resources_by_relative

    def subresources(self, request: AccessRequest) -> tuple[Resource, ...]:
        """Return the sub-resources of a request."""
        return tuple(_subresource(urn, self._resources) for urn in request.subresources)

    def list_urns(self, request: AccessRequest) -> list[str]:
        """Return the URNs of the request's relatives, the resource itself included."""
        return [urn for urns in self._urns_by_request[id(request)].values() for urn in urns]


class _GrantLoader:
    """The grants that apply to several questions, loaded together; no query if no question has grantable privileges."""

    def __init__(self, requests: Sequence[tuple[Actor, AccessRequest]], facts: _RequestFacts) -> None:
        self._facts = facts
        grant_requests = [
            (actor, request) for actor, request in requests if families.is_granted(request.requirement.privileges)
        ]
        urns = {urn for _, request in grant_requests for urn in facts.list_urns(request)}
        holders = {holder for actor, _ in grant_requests for holder in actor.holders | actor.roles}
        self._grants: GrantsByEntity = _grant_source().load_statements(holders=holders, urns=urns) if urns else {}

    def applicable_grants(self, actor: Actor, request: AccessRequest) -> Sequence[Statement]:
        """Return the actor's grants that cover an entity of one of the questions."""
        if not self._grants:
            return ()
        entity_grants = [self._grants.get(urn, {}) for urn in self._facts.list_urns(request)]
        holders = sorted(actor.holders | actor.roles)
        return [
            grant
            for grants_by_holder in entity_grants
            for holder in holders
            if holder in grants_by_holder
            for grant in grants_by_holder[holder]
        ]


def _load_related_urns(requests: Sequence[AccessRequest]) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """Return entity URN → relative name → URNs, from the catalog, for relatives that the questions do not name."""
    urns: set[str] = set()
    relative_names: set[str] = set()
    for request in requests:
        if not request.requirement.other_relatives:
            continue
        missing_names = request.requirement.other_relatives - request.relatives.keys()
        sides = request.requirement.other_relatives & (_LINK_SIDES.keys() | _DATASET_RELATIVES)
        relative_names |= {"dataset"} if sides else set()
        relative_names |= missing_names - {"child"}
        if (missing_names or sides) and request.resource is not None and request.resource.urn:
            urns.add(request.resource.urn)
        urns.update(urn for name in sides for urn in request.relatives.get(name, ()))
    return facet_source().load_relatives(urns=urns, names=relative_names) if urns else {}


def _resolve_relative_urns(
    request: AccessRequest, related_urns: Mapping[str, Mapping[str, tuple[str, ...]]]
) -> dict[str, tuple[str, ...]]:
    """Return relative name → URNs, for each relative that the request's requirement mentions.

    `related_urns` are the URNs from the catalog: entity URN → relative name → URNs.
    """
    own_urns = () if request.resource is None or not request.resource.urn else (request.resource.urn,)
    urns_by_relative: dict[str, tuple[str, ...]] = {SELF: own_urns}
    for name in request.requirement.other_relatives:
        relative_urns = own_urns if _LINK_SIDES.get(name) == SELF else request.relatives.get(name)
        if relative_urns is None:
            relative_urns = tuple(urn for base_urn in own_urns for urn in related_urns.get(base_urn, {}).get(name, ()))
        if name in _LINK_SIDES:
            relative_urns = tuple(
                urn
                for base_urn in relative_urns
                for urn in (base_urn, *related_urns.get(base_urn, {}).get("dataset", ()))
            )
        if name in _DATASET_RELATIVES:
            relative_urns = tuple(
                urn
                for base_urn in relative_urns
                for urn in related_urns.get(base_urn, {}).get("dataset") or (base_urn,)
            )
        urns_by_relative[name] = relative_urns
    return urns_by_relative


def _subresource(urn: str, resources: Mapping[str, Resource]) -> Resource:
    return Resource(urn, "", {}) if urn == ANY_SUBRESOURCE else resources[urn]


def _load_resources(urns: Collection[str], fields: Collection[str]) -> Mapping[str, Resource]:
    return facet_source().load(urns=urns, fields=fields) if urns else {}


def _build_resource(resource: ResourceRef, resources: Mapping[str, Resource], fields: Collection[str]) -> Resource:
    """Return the resource of a question: the facts of the entity and those of the question itself (rules/datazone.md).

    For a type alone the facets are empty (rules/datahub.md a.3), except for CREATION, the branch, and the project.
    """
    if not resource.urn:
        facts = dict.fromkeys(fields, frozenset[str]()) | dict(resource.fact_overrides)
        facts |= {CREATION: frozenset((YES,)), BRANCH: frozenset((_branch(resource, resource.type),))}
        facts |= {PROJECT: frozenset((resource.project,))} if resource.project else {}
        return Resource("", resource.type, facts)
    entity = resources[resource.urn]
    resource_type, branch = resource.type or entity.type, _branch(resource, entity.type)
    if resource_type == entity.type and branch == MAIN_BRANCH and not resource.fact_overrides:
        return entity
    return Resource(
        entity.urn,
        resource_type,
        {**entity.facets, BRANCH: frozenset((branch,)), **dict(resource.fact_overrides)},
        entity.owners,
    )


def _branch(resource: ResourceRef, resource_type: str) -> str:
    """Return the branch of a question; types without versions are always on main (DZ-41, DZ-43)."""
    return MAIN_BRANCH if resource_type in families.unversioned_types() else resource.branch or MAIN_BRANCH
