"""The facts of several questions, loaded together: related entities, resources with their facets, and grants."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from policies.engine import families
from policies.engine.alternatives import limit_alternatives
from policies.engine.evaluate import Relatives, decide_privilege, decide_requirement
from policies.engine.model import Actor, Decision, Question, Statement
from policies.engine.requested_columns import apply_requested_columns
from policies.engine.requirements import SELF, Requirement
from policies.engine.selectors import ANY_SUBRESOURCE, BRANCH, CREATION, MAIN_BRANCH, PROJECT, YES, Resource
from policies.engine.snapshot import Snapshot
from policies.pdp.access_requests import AccessRequest, ResourceRef
from policies.pdp.ports import facet_source, grant_source

if TYPE_CHECKING:
    from policies.engine.ports import GrantsByEntity

#: Relatives that are assembled from others, and the relative each comes from: a side of a logical parent link is the
#: entity itself and, if that is a schema field, also the dataset it belongs to.
_LINK_SIDES = {"child": SELF, "parent": "parent"}

#: Relatives for which a schema field named by the question is replaced by its dataset (stored ones already are).
_DATASET_RELATIVES = frozenset({"subjects"})


#: Puts facts that are not stored in place of stored ones: of resources, by URN.
FactStaging = Callable[[Mapping[str, Resource]], Mapping[str, Resource]]


class RequestFacts:
    """The facts of several questions, loaded together; `stage_facts` replaces those that are not as stored."""

    def __init__(
        self, snapshot: Snapshot, requests: Sequence[AccessRequest], stage_facts: FactStaging | None = None
    ) -> None:
        self._snapshot = snapshot
        privileges = _collect_privileges(requests)
        self._fields = snapshot.tested_fields(privileges) | snapshot.tested_subfields(privileges)
        urns: set[str] = set()
        related_requests = []
        for request in requests:
            if request.resource is not None and request.resource.urn:
                urns.add(request.resource.urn)
            if request.subresources:
                urns.update(urn for urn in request.subresources if urn != ANY_SUBRESOURCE)
            # Most questions are about the entity itself and nothing else.
            if request.requirement.other_relatives:
                related_requests.append(request)
        related_urns = _load_related_urns(related_requests) if related_requests else {}
        # By identity: requests contain mappings, so they have no hash. Keeping them keeps their identities.
        self._requests = requests
        self._urns_by_request = {
            id(request): _resolve_relative_urns(request, related_urns) for request in related_requests
        }
        for request in related_requests:
            urns.update(self.list_urns(request))
        resources = load_resources(urns, self._fields)
        self._resources = resources if stage_facts is None else stage_facts(resources)

    def decide(self, actor: Actor, request: AccessRequest, grants: Sequence[Statement]) -> Decision:
        """Return the decision on one of the questions.

        A question about columns or a path is decided for each alternative separately: where one alternative shows too
        little, another may show enough.
        """
        requirement, resource = request.requirement, request.resource
        subresources = self.subresources(request)
        columns, path = (None, None) if resource is None else (resource.columns, resource.path)
        is_about_part = columns is not None or path is not None
        if requirement.sole_privilege is not None and not is_about_part:
            question = Question(actor, requirement.sole_privilege, self._find_own(resource), subresources)
            return decide_privilege(self._snapshot, question, grants)
        relatives = self.relatives(request)
        if not is_about_part:
            return decide_requirement(self._snapshot, actor, requirement, relatives, subresources, grants)
        decisions = [
            apply_requested_columns(
                decide_requirement(self._snapshot, actor, Requirement((alternative,)), relatives, subresources, grants),
                columns=columns,
                path=path,
            )
            for alternative in requirement.any_of or ((),)
        ]
        allowed_decision = next((item for item in decisions if item.is_allowed), None)
        if allowed_decision is not None:
            return allowed_decision
        alternatives_to_grant = limit_alternatives(item for decision in decisions for item in decision.missing_any)
        return decisions[0]._replace(missing_any=alternatives_to_grant)

    def relatives(self, request: AccessRequest) -> Relatives:
        """Return relative name → resources, for each relative that the request's requirement mentions."""
        resources_by_relative: dict[str, Sequence[Resource | None]] = {SELF: (self._find_own(request.resource),)}
        if request.requirement.other_relatives:
            for name, urns in self._urns_by_request[id(request)].items():
                if name != SELF:
                    resources_by_relative[name] = [self._resources[urn] for urn in urns]
        return resources_by_relative

    def _find_own(self, resource: ResourceRef | None) -> Resource | None:
        return None if resource is None else build_resource(resource, self._resources, self._fields)

    def subresources(self, request: AccessRequest) -> tuple[Resource, ...]:
        """Return the sub-resources of a request."""
        if not request.subresources:
            return ()
        return tuple(_subresource(urn, self._resources) for urn in request.subresources)

    def list_urns(self, request: AccessRequest) -> Sequence[str]:
        """Return the URNs of the request's relatives, the resource itself included."""
        if not request.requirement.other_relatives:
            return _list_own_urns(request)
        return [urn for urns in self._urns_by_request[id(request)].values() for urn in urns]


class GrantLoader:
    """The grants that apply to several questions, loaded together; no query if no question has grantable privileges."""

    def __init__(self, requests: Sequence[tuple[Actor, AccessRequest]], facts: RequestFacts) -> None:
        self._facts = facts
        grant_requests = [
            (actor, request) for actor, request in requests if families.is_granted(request.requirement.privileges)
        ]
        self._grants: GrantsByEntity = self._load_grants(grant_requests) if grant_requests else {}

    def _load_grants(self, requests: Sequence[tuple[Actor, AccessRequest]]) -> "GrantsByEntity":
        urns = {urn for _, request in requests for urn in self._facts.list_urns(request)}
        holders = {holder for actor, _ in requests for holder in actor.holders | actor.roles}
        return grant_source().load_statements(holders=holders, urns=urns) if urns else {}

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


def _collect_privileges(requests: Sequence[AccessRequest]) -> frozenset[str]:
    if len(requests) == 1:
        return requests[0].requirement.privileges
    return frozenset[str]().union(*(request.requirement.privileges for request in requests))


def _list_own_urns(request: AccessRequest) -> tuple[str, ...]:
    return () if request.resource is None or not request.resource.urn else (request.resource.urn,)


def _load_related_urns(requests: Sequence[AccessRequest]) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """Return entity URN → relative name → URNs, from the catalog, for relatives that the questions do not name."""
    urns: set[str] = set()
    relative_names: set[str] = set()
    for request in requests:
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
    own_urns = _list_own_urns(request)
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


def load_resources(urns: Collection[str], fields: Collection[str]) -> Mapping[str, Resource]:
    """Return URN → resource with these facets; no query without URNs."""
    return facet_source().load(urns=urns, fields=fields) if urns else {}


def build_resource(resource: ResourceRef, resources: Mapping[str, Resource], fields: Collection[str]) -> Resource:
    """Return the resource of a question: the facts of the entity and those of the question itself (rules/datazone.md).

    For a type alone the facets are empty (rules/datahub.md a.3), except for CREATION, the branch, and the project.
    """
    if not resource.urn:
        facts = dict.fromkeys(fields, frozenset[str]()) | dict(resource.fact_overrides)
        facts |= {CREATION: frozenset((YES,)), BRANCH: frozenset((_branch(resource, resource.type),))}
        facts |= {PROJECT: frozenset((resource.project,))} if resource.project else {}
        return Resource("", resource.type, facts)
    entity = resources[resource.urn]
    if resource.type == entity.type and not resource.branch and not resource.fact_overrides:
        return entity
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
