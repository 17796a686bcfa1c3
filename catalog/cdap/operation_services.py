"""CDAP operations, checked and applied (rules/cdap.md CD-6 to CD-17, CD-22).

Each changing operation is one transaction that waits for earlier writes: of two creates of one name one wins, and
nobody is granted anything on the entity that the other created.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.db.models import Q, QuerySet
from django.utils import timezone

from catalog.access import coverage_sql, entity_lists, grant_source
from catalog.access.grant_source import Grant
from catalog.ingest import deletes
from catalog.ingest.write_set import WriteSet
from catalog.models import Entity
from policies.engine.errors import InvalidQuestion, Problem, UnknownOperation
from policies.engine.families import cdap, cdap_entity_ids, cdap_requests
from policies.engine.families.cdap_entity_ids import INSTANCE_URN, CdapName
from policies.engine.families.cdap_requests import OperationRequest, ResolvedOperation
from policies.engine.model import Actor, Decision, MissingPrivilege
from policies.errors import Conflict, Forbidden, Invalid, NotFound
from policies.models import Gate, Verb
from policies.models.people import MAX_NAME_LENGTH
from policies.pdp import actor_resolution, authorizer, display_names
from policies.pdp.access_requests import AccessRequest, ResourceRef
from policies.pdp.ports import facet_source
from policies.writes.unit_of_work import open_unit_of_work

#: Privileges for acting as another actor.
_ACT_FOR_OTHERS_PRIVILEGES = (("MANAGE_POLICIES",),)
#: Entities and the grants on them change together.
_GATES = (Gate.CATALOG, Gate.PEOPLE)
#: Maximum number of entities per batch of decisions.
_CHUNK_SIZE = 1000
_INSTANCE_STAYS_MESSAGE = "The CDAP instance is there from the start and stays."


@dataclass(frozen=True, slots=True)
class OperationDone:
    """An operation that was allowed and applied, with the grants that it made."""

    decision: Decision
    resulting_grants: tuple[cdap.ResultingGrant, ...] = ()


@dataclass(frozen=True, slots=True)
class OperationListing:
    """Entities visible to the actor, sorted; of namespaces all, and those on which the actor holds a privilege."""

    urns: tuple[str, ...]
    accessible_urns: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class RefusedEntity:
    """An entity that was not deleted, and the missing privileges."""

    entity: str
    missing: tuple[MissingPrivilege, ...]


@dataclass(frozen=True, slots=True)
class DeleteAllResult:
    """Deleted and refused entities of delete_all; entities that the actor may not see are counted, not named."""

    deleted_urns: tuple[str, ...]
    errors: tuple[RefusedEntity, ...]
    hidden_count: int


@dataclass(frozen=True, slots=True)
class _OperationCall:
    """An operation with the actor that performs it, and the caller and channel that changes are recorded with."""

    operation: ResolvedOperation
    actor: Actor
    by: Actor
    channel: str

    def reload_actor(self) -> "_OperationCall":
        """Return the call with the actor as it is behind the gates: it may have been removed while the call waited.

        Raises Invalid for an actor that is unknown by now, Forbidden for a suspended one.
        """
        return replace(self, actor=_load_known_actor(self.actor.urn))


def perform(
    *, operation_request: OperationRequest, actor: str | None, by: Actor, channel: str
) -> OperationDone | OperationListing | DeleteAllResult:
    """Check an operation of an actor (default `by`) and apply it.

    Raises Invalid with every problem and for an unknown actor, Forbidden with everything that is missing, NotFound for
    a missing entity that the actor could list (else refused like a hidden one), Conflict for a create of an existing
    entity.
    """
    operation = _resolve_request(operation_request)
    call = _OperationCall(operation, _resolve_actor(actor, by), by, channel)
    if operation.container is not None:
        return _apply_to_container(call, operation.container)
    entity = _require_entity(operation)
    match operation.operation.effect:
        case cdap.OperationEffect.CREATE:
            return _create(call, entity)
        case cdap.OperationEffect.DELETE:
            return _delete(call, entity)
        case _:
            return OperationDone(_require_allowed(call, entity))


def _resolve_request(operation_request: OperationRequest) -> ResolvedOperation:
    try:
        operation = cdap_requests.resolve(operation_request)
    except UnknownOperation as error:
        raise Invalid.from_problem(code=error.code, pointer="/operation", detail=str(error)) from None
    except InvalidQuestion as error:
        raise Invalid(error.problems) from None
    if operation.operation.is_about_many and operation.container is None:
        detail = f"{operation.operation.name} takes what the entities lie in."
        raise Invalid.from_problem(code="type.mismatch", pointer="/entity", detail=detail)
    return operation


def _require_entity(operation: ResolvedOperation) -> CdapName:
    if operation.entity is None:
        raise Invalid.from_problem(code="required", pointer="/entity", detail="Name the entity that is operated on.")
    return operation.entity


def _resolve_actor(actor: str | None, by: Actor) -> Actor:
    """Return the acting actor; acting for others needs MANAGE_POLICIES."""
    if by.urn == authorizer.SYSTEM.urn and actor is None:
        raise Invalid.from_problem(code="required", pointer="/actor", detail="The system holds nothing; say who acts.")
    if actor is None or actor == by.urn:
        return _require_active(by)
    authorizer.require(by=by, any_of=_ACT_FOR_OTHERS_PRIVILEGES)
    return _load_known_actor(actor)


def _load_known_actor(urn: str) -> Actor:
    """Return a user with groups and roles. Raises Invalid if there is none or it is removed, Forbidden if suspended."""
    actor = actor_resolution.load_actor(urn=urn)
    if actor.is_removed or not display_names.load_names(urns=[urn]):
        raise Invalid.from_problem(code="entity.unknown", pointer="/actor", detail=f"There is no user {urn}.")
    return _require_active(actor)


def _require_active(actor: Actor) -> Actor:
    if not actor.is_active:
        raise Forbidden((), f"{actor.urn} is suspended.")
    return actor


# -- one entity -------------------------------------------------------------------------------------------------------


def _create(call: _OperationCall, entity: CdapName) -> OperationDone:
    """Register the created entities and grant everything on them to their creator (CD-15, CD-16)."""
    if entity.urn == INSTANCE_URN:
        raise Conflict(_INSTANCE_STAYS_MESSAGE)
    operation, creator, by, now = call.operation, call.actor.urn, call.by.urn, timezone.now()
    with open_unit_of_work(by=call.by, channel=call.channel, gates=_GATES) as uow:
        call = call.reload_actor()
        decision = _decide(call, entity)
        if not decision.is_allowed:
            raise authorizer.build_refusal(decision)
        if existing_urns := sorted(_find_existing(operation.created_urns)):
            raise Conflict(f"There is already an entity {existing_urns[0]}.")
        _check_references(operation, entity)
        write_set = WriteSet(entity_urns=operation.created_urns, aspects=(), by=by, channel=call.channel, now=now)
        for urn in operation.created_urns:
            write_set.register(urn)
            uow.audit(urn=urn, name=urn[:MAX_NAME_LENGTH], verb=Verb.CREATED, after={"urn": urn, "creator": creator})
        write_set.save()
        resulting_grants = operation.resulting_grants(creator)
        new_grants = [Grant(grant.principal, grant.entity, grant.privileges) for grant in resulting_grants]
        grant_source.insert_grants(grants=new_grants, by=by, at=now)
    return OperationDone(decision, resulting_grants)


def _check_references(operation: ResolvedOperation, entity: CdapName) -> None:
    """Raise Invalid for a create in a missing parent or from a missing artifact."""
    artifacts = operation.relatives[cdap.ARTIFACT]
    parents = [urn for urn in entity.ancestors[:1] if urn != INSTANCE_URN]
    existing_urns = _find_existing([*parents, *artifacts])
    required_urns = [("/entity", urn) for urn in parents] + [("/related/artifact", urn) for urn in artifacts]
    problems = [
        Problem("entity.unknown", pointer, f"There is no entity {urn}.")
        for pointer, urn in required_urns
        if urn not in existing_urns
    ]
    if problems:
        raise Invalid(problems)


def _delete(call: _OperationCall, entity: CdapName) -> OperationDone:
    """Delete the entity, its contents, and every grant on them (CD-17)."""
    with open_unit_of_work(by=call.by, channel=call.channel, gates=_GATES):
        decision = _require_allowed(call.reload_actor(), entity)
        deletes.delete_entities(urns=[entity.urn], by=call.by.urn, channel=call.channel)
    return OperationDone(decision)


def _require_allowed(call: _OperationCall, entity: CdapName) -> Decision:
    """Return the decision about an existing entity; raises NotFound and Forbidden (CD-22)."""
    decision = _decide(call, entity)
    if not _find_existing([entity.urn]) and (decision.is_allowed or _can_list(entity, call.actor)):
        raise NotFound(f"There is no entity {entity.urn}.")
    if not decision.is_allowed:
        raise authorizer.build_refusal(decision)
    return decision


def _decide(call: _OperationCall, entity: CdapName) -> Decision:
    resource = ResourceRef(entity.urn, call.operation.operation.kind)
    access_request = AccessRequest(
        call.operation.requirement,
        resource,
        relatives=call.operation.relatives,
        operation=call.operation.operation.name,
    )
    return authorizer.answer_and_log(requests=[(call.actor, access_request)])[0]


def _can_list(entity: CdapName, actor: Actor) -> bool:
    """Whether a list would show the entity to the actor if it existed; everybody sees namespaces (CD-13)."""
    if entity.kind in (cdap_entity_ids.NAMESPACE, cdap_entity_ids.INSTANCE):
        return True
    requirement = cdap.get_requirement(f"{entity.kind}.list")
    return authorizer.answer(
        actor=actor, request=AccessRequest(requirement, ResourceRef(entity.urn, entity.kind))
    ).is_allowed


def _find_existing(urns: Sequence[str]) -> frozenset[str]:
    return frozenset(facet_source().load_types(urns=urns)) | (frozenset(urns) & {INSTANCE_URN})


# -- contents of a container ------------------------------------------------------------------------------------------


def _apply_to_container(call: _OperationCall, container: CdapName) -> OperationListing | DeleteAllResult:
    """List or delete the contents of a container; to actors that could not list it a missing one is empty (CD-22)."""
    if not _find_existing([container.urn]) and _can_list(container, call.actor):
        raise NotFound(f"There is no entity {container.urn}.")
    if call.operation.operation.effect is cdap.OperationEffect.LIST:
        return _build_listing(call.operation.operation.kind, container, call.actor)
    return _delete_contents(call, container)


def _build_listing(kind: str, container: CdapName, actor: Actor) -> OperationListing:
    entities = _list_entities(kind, container)
    if kind != cdap_entity_ids.NAMESPACE:
        return OperationListing(_load_urns(_filter_with_any_privilege(entities, actor, cdap.LISTING_PRIVILEGES)))
    return OperationListing(
        _load_urns(entities), _load_urns(_filter_with_any_privilege(entities, actor, cdap.PRIVILEGES))
    )


def _delete_contents(call: _OperationCall, container: CdapName) -> DeleteAllResult:
    """Delete the contents that the actor may delete, ordered by URN, each in a transaction of its own (CD-14)."""
    kind = call.operation.operation.kind
    if kind == cdap_entity_ids.INSTANCE:
        raise Conflict(_INSTANCE_STAYS_MESSAGE)
    urns = _load_urns(_list_entities(kind, container))
    listable_urns = frozenset(_build_listing(kind, container, call.actor).urns)
    deleted_urns: list[str] = []
    errors: list[RefusedEntity] = []
    hidden_count = 0
    for urn, initially_missing in _check_deletes(kind, urns, call.actor):
        missing_privileges = initially_missing or _try_delete(call, urn)
        if missing_privileges is None:
            continue
        if not missing_privileges:
            deleted_urns.append(urn)
        elif urn in listable_urns:
            errors.append(RefusedEntity(urn, missing_privileges))
        else:
            hidden_count += 1
    return DeleteAllResult(tuple(deleted_urns), tuple(errors), hidden_count)


def _check_deletes(kind: str, urns: Sequence[str], actor: Actor) -> list[tuple[str, tuple[MissingPrivilege, ...]]]:
    """Return (URN, missing privileges) of deleting each entity; empty when it may be deleted."""
    requirement = cdap.get_requirement(f"{kind}.{cdap.OperationEffect.DELETE_ALL.value}")
    missing_by_urn: list[tuple[str, tuple[MissingPrivilege, ...]]] = []
    for start in range(0, len(urns), _CHUNK_SIZE):
        chunk = urns[start : start + _CHUNK_SIZE]
        decisions = authorizer.answer_many(
            requests=[(actor, AccessRequest(requirement, ResourceRef(urn, kind))) for urn in chunk]
        )
        missing_by_urn += [
            (urn, () if decision.is_allowed else decision.missing)
            for urn, decision in zip(chunk, decisions, strict=True)
        ]
    return missing_by_urn


def _try_delete(call: _OperationCall, urn: str) -> tuple[MissingPrivilege, ...] | None:
    """Delete one entity; return the privileges missing by now, None when another call deleted it first."""
    name = f"{call.operation.operation.kind}.{cdap.OperationEffect.DELETE.value}"
    operation = _resolve_request(OperationRequest(name, urn))
    try:
        _delete(replace(call, operation=operation), _require_entity(operation))
    except NotFound:
        return None
    except Forbidden as error:
        return error.missing
    return ()


def _list_entities(kind: str, container: CdapName) -> QuerySet[Entity]:
    """Return the entities of a kind in a container, without removed ones."""
    entities = entity_lists.list_contents(containers=[container.urn], kind=kind)
    if kind == container.kind:
        entities = Entity.objects.filter(urn=container.urn)
    return entities.filter(is_removed=False)


def _filter_with_any_privilege(rows: QuerySet[Entity], actor: Actor, privileges: Sequence[str]) -> QuerySet[Entity]:
    """Return the entities on which the actor holds any of the privileges."""
    condition = Q(pk__in=[])
    for privilege in privileges:
        coverage = authorizer.compute_coverage(actor=actor, privilege=privilege)
        condition |= Q(pk__in=coverage_sql.filter_covered(coverage).order_by().values("pk"))
    return rows.filter(condition)


def _load_urns(rows: QuerySet[Entity]) -> tuple[str, ...]:
    return tuple(rows.order_by("urn").values_list("urn", flat=True))
