"""The authorizer: loads the facts of a question and has the engine decide. Every page, API, list and protocol uses it.

Three questions: may this actor (`answer`), on which entities (`compute_coverage`), and who may
(`inverse_queries.find_allowed_actors`). A fact that cannot be loaded raises an error; nothing is allowed then.
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import replace
from types import MappingProxyType

from django.conf import settings

from policies.engine import families
from policies.engine.model import SYSTEM_ACTOR, Actor, Coverage, Decision, DecisionCode, MissingPrivilege
from policies.engine.ports import Directory, GrantsByEntity
from policies.engine.requirements import SELF, Requirement, any_of_requirement
from policies.engine.selectors import Resource
from policies.engine.snapshot import Snapshot
from policies.errors import Forbidden
from policies.kept_settings import kept_settings
from policies.pdp import display_names, known_privileges, per_snapshot, snapshot_store
from policies.pdp.access_requests import AccessRequest, ResourceRef
from policies.pdp.bound_value import BoundValue
from policies.pdp.log import decision_log
from policies.pdp.ports import grant_source, import_port
from policies.pdp.request_facts import FactStaging, GrantLoader, RequestFacts, build_resource, load_resources
from policies.propagation import metrics

#: The actor of management commands and the bootstrap.
SYSTEM = Actor(SYSTEM_ACTOR)

#: A name of its own: reading a member of an enumeration takes as long as comparing it.
_IMPLICIT_DENY = DecisionCode.IMPLICIT_DENY

#: Returns the viewer of the current answer; None outside of requests, where the system is the viewer.
_VIEWER: ContextVar[Callable[[], Actor] | None] = ContextVar("viewer", default=None)


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


def decide_staged(
    *, requests: Sequence[tuple[Actor, AccessRequest]], snapshot: Snapshot, stage_facts: FactStaging | None = None
) -> list[Decision]:
    """Return the decisions on questions that nobody asks now, of a snapshot, and with facts that are not stored if any.

    They are not counted among those that are asked.
    """
    return _decide_all(requests, 0, snapshot, stage_facts)


def _decide_all(
    requests: Sequence[tuple[Actor, AccessRequest]],
    at_least: int,
    snapshot: Snapshot | None,
    stage_facts: FactStaging | None = None,
) -> list[Decision]:
    is_enabled = kept_settings.AUTH_POLICIES_ENABLED
    is_current = snapshot is None and not at_least
    if is_enabled and is_current and all(actor.urn == SYSTEM_ACTOR for actor, _ in requests):
        return [Decision(is_allowed=True, code=DecisionCode.SYSTEM_ACTOR) for _ in requests]
    if snapshot is None:
        snapshot = snapshot_store.get_current(at_least=at_least)
    if not is_enabled:
        return [
            Decision(is_allowed=True, code=DecisionCode.POLICIES_DISABLED, version=snapshot.version) for _ in requests
        ]
    facts = RequestFacts(snapshot, [request for _, request in requests], stage_facts)
    grant_loader = GrantLoader(requests, facts)
    decisions = [
        facts.decide(actor, request, grant_loader.applicable_grants(actor, request)) for actor, request in requests
    ]
    for index, decision in enumerate(decisions):
        if decision.code is _IMPLICIT_DENY and known_privileges.needs_unknown(requests[index][1].requirement):
            decisions[index] = decision._replace(code=DecisionCode.PRIVILEGE_UNKNOWN)
    return decisions


def answer_and_log(
    *, requests: Sequence[tuple[Actor, AccessRequest]], at_least: int = 0, snapshot: Snapshot | None = None
) -> list[Decision]:
    """Return the decisions of `answer_many`, enqueue a sample of them for the decision log and count what they use.

    For questions that arrive through a channel or precede an action; not for questions of a page about its own buttons.
    """
    started_at = time.perf_counter()
    decisions = answer_many(requests=requests, at_least=at_least, snapshot=snapshot)
    log_decisions(requests, decisions, seconds=(time.perf_counter() - started_at) / max(len(requests), 1))
    return decisions


def answer_and_count(*, requests: Sequence[tuple[Actor, AccessRequest]], at_least: int = 0) -> list[Decision]:
    """Return the decisions of `answer_many`, and count what they use, for reading: the log would have little else."""
    decisions = answer_many(requests=requests, at_least=at_least)
    decision_log.count_uses(requests, decisions)
    return decisions


def log_decisions(
    requests: Sequence[tuple[Actor, AccessRequest]],
    decisions: Sequence[Decision],
    *,
    seconds: float,
    evaluation_ids: Mapping[int, str] = MappingProxyType({}),
) -> None:
    """Enqueue a sample of answered decisions for the decision log and count what they use; each took these seconds.

    `evaluation_ids` are the ids by which the caller was told of some of them, by their index.
    """
    decision_log.count_uses(requests, decisions)
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
                decision_log.Entry(
                    request_context,
                    actor.urn,
                    *question_fields,
                    decision,
                    seconds * 1000,
                    request.is_plain,
                    evaluation_ids.get(index, ""),
                )
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

    The result depends on the policies and the actor only, so it is computed once for each pair of them; every call is
    a use.
    """
    if settings.AUTH_POLICIES_ENABLED and not count_known_use(by=by, any_of=any_of):
        per_snapshot.memoize((__name__, by, any_of), lambda: _detach(require(by=by, any_of=any_of)))


def count_known_use(*, by: Actor, any_of: tuple[tuple[str, ...], ...]) -> bool:
    """Count what the decision of an earlier `require_cached` uses; return whether there is one."""
    decision: Decision | None = per_snapshot.find((__name__, by, any_of))
    if decision is None:
        return False
    decision_log.count_uses([(by, AccessRequest(any_of_requirement(any_of)))], [decision])
    return True


def _detach(decision: Decision) -> Decision:
    """Return the decision without the snapshot, which could not be forgotten otherwise."""
    return decision._replace(source=None, bits=0, grants=decision.statements)


def is_known_to_hold(*, by: Actor, any_of: tuple[tuple[str, ...], ...]) -> bool:
    """Return whether `require_cached` would return without deciding anything."""
    return not kept_settings.AUTH_POLICIES_ENABLED or per_snapshot.find((__name__, by, any_of)) is not None


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
    return build_resource(resource, load_resources({resource.urn} - {""}, fields), fields)


def load_request_facts(
    *, requests: Sequence[AccessRequest], snapshot: Snapshot
) -> Callable[[AccessRequest], tuple[Resource | None, tuple[Resource, ...]]]:
    """Load the facts of several questions; return a function from a request to (resource, sub-resources)."""
    facts = RequestFacts(snapshot, requests)
    return lambda request: (facts.relatives(request)[SELF][0], facts.subresources(request))


def load_grants(*, urns: Collection[str]) -> GrantsByEntity:
    """Return every grant that covers one of these entities, as entity URN → holder → statements, for all holders."""
    return grant_source().load_statements(holders=None, urns=urns)


def load_grantors(*, urns: Collection[str]) -> Mapping[str, tuple[str, ...]]:
    """Return the users, groups and roles that may give privileges on each of these entities, by entity URN."""
    return grant_source().load_grantors(urns=urns)


def list_sole_administered(*, holder: str, limit: int) -> tuple[Sequence[str], bool]:
    """Return entities on which only this user, group or role could give privileges, and whether these are all.

    No more than `limit` of the entities that it administers are examined.
    """
    return grant_source().list_sole_administered(holder=holder, limit=limit)


def bind_viewer(get_viewer: Callable[[], Actor]) -> BoundValue[Callable[[], Actor] | None]:
    """Restrict the directory, inside the block, to entities that this viewer may view; called only if needed."""
    return BoundValue(_VIEWER, get_viewer)


def directory() -> Directory:
    """Return the directory that the registry `ports` names, restricted to what the bound viewer may view."""
    get_viewer = _VIEWER.get() if settings.VIEW_AUTHORIZATION_ENABLED else None
    viewer_directory: Directory = import_port("Directory")(viewer=None if get_viewer is None else get_viewer())
    return viewer_directory


def load_names(*, urns: Collection[str]) -> dict[str, str]:
    """Return URN → display name for any kind of URN; URNs without a name or hidden from the viewer are left out."""
    names_by_urn = display_names.load_names(urns=urns)
    other_urns = [urn for urn in urns if urn not in names_by_urn]
    return {**directory().load_names(urns=other_urns), **names_by_urn} if other_urns else names_by_urn
