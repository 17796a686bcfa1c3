"""CDAP operations, checked and applied (rules/cdap.md CD-6 to CD-17, CD-22).

What changes something is one transaction behind all writes that came before it, so that of two creates of one name one
wins, and nobody is granted anything on what the other made.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.db.models import Q, QuerySet
from django.utils import timezone

from catalog.access import coverage_sql, entity_lists, grant_source
from catalog.access.grant_source import Grant
from catalog.ingest import deletes
from catalog.ingest.write_set import Ledger
from catalog.models import Entity
from policies.engine.errors import InvalidQuestion, Problem, UnknownOperation
from policies.engine.families import cdap, cdap_entity_ids, cdap_requests
from policies.engine.families.cdap_entity_ids import INSTANCE_URN, CdapName
from policies.engine.families.cdap_requests import Read, Said
from policies.engine.model import Actor, Decision, Missing
from policies.engine.requirements import Requirement
from policies.errors import Conflict, Forbidden, Invalid, NotFound
from policies.models import Gate, Verb
from policies.models.people import NAME_LENGTH
from policies.pdp import actor_resolution, authorizer, display_names
from policies.pdp.authorizer import Ask, Asked
from policies.writes.unit_of_work import change

#: What acting for somebody else needs.
_FOR_OTHERS = (("MANAGE_POLICIES",),)
#: Entities and the grants on them change together.
_GATES = (Gate.CATALOG, Gate.PEOPLE)
#: How many entities are judged at once.
_CHUNK = 1000
_STAYS = "The CDAP instance is there from the start and stays."


@dataclass(frozen=True, slots=True)
class Done:
    """An operation that was allowed and applied, with the grants that it gave."""

    decision: Decision
    resultant: tuple[cdap.Resultant, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """A list: what the actor may see, in order; of namespaces all, and on which of them the actor holds something."""

    returned: tuple[str, ...]
    accessible: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """An entity that was not deleted, and what was missing."""

    entity: str
    missing: tuple[Missing, ...]


@dataclass(frozen=True, slots=True)
class Emptied:
    """What delete_all deleted and what it did not; entities that the actor may not see are counted, not named."""

    deleted: tuple[str, ...]
    errors: tuple[Refused, ...]
    hidden: int


def perform(*, said: Said, actor: str | None, by: Actor, door: str) -> Done | Found | Emptied:
    """Check an operation of an actor (`by` unless told) and apply it.

    Raises Invalid with every problem, Forbidden with everything that is missing, NotFound for an entity that is not
    there and that the actor could list (else it is refused like a hidden one), Conflict for a create of what is there.
    """
    read = _read(said)
    acting = _acting(actor, by)
    if not acting.is_active:
        raise Forbidden((), f"{acting.urn} is suspended.")
    if read.place is not None:
        return _of_place(read, read.place, acting, by=by, door=door)
    entity = _entity_of(read)
    match read.operation.applied:
        case cdap.Applied.CREATE:
            return _create(read, entity, acting, by=by, door=door)
        case cdap.Applied.DELETE:
            return _delete(read, entity, acting, by=by, door=door)
        case _:
            return Done(_allowed(read, entity, acting))


def _read(said: Said) -> Read:
    try:
        read = cdap_requests.read(said)
    except UnknownOperation as error:
        raise Invalid.one(code=error.code, pointer="/operation", detail=str(error)) from None
    except InvalidQuestion as error:
        raise Invalid(error.problems) from None
    if read.operation.is_about_many and read.place is None:
        detail = f"{read.operation.name} takes what the entities lie in."
        raise Invalid.one(code="type.mismatch", pointer="/entity", detail=detail)
    return read


def _entity_of(read: Read) -> CdapName:
    if read.entity is None:
        raise Invalid.one(code="required", pointer="/entity", detail="Name the entity that is operated on.")
    return read.entity


def _acting(actor: str | None, by: Actor) -> Actor:
    """Return who acts. Only somebody who may change policies acts for others."""
    if by.urn == authorizer.SYSTEM.urn and actor is None:
        raise Invalid.one(code="required", pointer="/actor", detail="The system holds nothing; say who acts.")
    if actor is None or actor == by.urn:
        return by
    authorizer.require(by=by, any_of=_FOR_OTHERS)
    if not display_names.names(urns=[actor]):
        raise Invalid.one(code="entity.unknown", pointer="/actor", detail=f"There is no user {actor}.")
    return actor_resolution.actor(urn=actor)


# -- one entity -------------------------------------------------------------------------------------------------------


def _create(read: Read, entity: CdapName, actor: Actor, *, by: Actor, door: str) -> Done:
    """Register what is made and give everything on it to who made it (CD-15, CD-16)."""
    if entity.urn == INSTANCE_URN:
        raise Conflict(_STAYS)
    with change(by=by, door=door, gates=_GATES) as doing:
        decision = _decide(read, entity, actor)
        if not decision.is_allowed:
            raise authorizer.refusal_of(decision)
        if known := sorted(_known(read.made)):
            raise Conflict(f"There is already an entity {known[0]}.")
        _check_named(read, entity)
        ledger = Ledger(wanted=read.made, aspects=(), by=by.urn, door=door, now=timezone.now())
        for urn in read.made:
            ledger.register(urn)
            doing.record(urn=urn, name=urn[:NAME_LENGTH], verb=Verb.CREATED, after={"urn": urn, "creator": actor.urn})
        ledger.save()
        resultant = read.resultant(actor.urn)
        given = [Grant(one.principal, one.entity, one.privileges) for one in resultant]
        grant_source.give(grants=given, by=by.urn, at=timezone.now())
    return Done(decision, resultant)


def _check_named(read: Read, entity: CdapName) -> None:
    """Refuse a create in something that is not there, or from an artifact that is not."""
    artifacts = read.relatives[cdap.ARTIFACT]
    parents = [urn for urn in entity.above[:1] if urn != INSTANCE_URN]
    known = _known([*parents, *artifacts])
    wanted = [("/entity", urn) for urn in parents] + [("/related/artifact", urn) for urn in artifacts]
    problems = [
        Problem("entity.unknown", place, f"There is no entity {urn}.") for place, urn in wanted if urn not in known
    ]
    if problems:
        raise Invalid(problems)


def _delete(read: Read, entity: CdapName, actor: Actor, *, by: Actor, door: str) -> Done:
    """Remove the entity, what lies in it, and every grant on them (CD-17)."""
    with change(by=by, door=door, gates=_GATES):
        decision = _allowed(read, entity, actor)
        deletes.forget(urns=[entity.urn], by=by.urn, door=door)
    return Done(decision)


def _allowed(read: Read, entity: CdapName, actor: Actor) -> Decision:
    """Return the decision about an entity that is there; raises NotFound and Forbidden (CD-22)."""
    decision = _decide(read, entity, actor)
    if not _known([entity.urn]) and (decision.is_allowed or _could_list(entity, actor)):
        raise NotFound(f"There is no entity {entity.urn}.")
    if not decision.is_allowed:
        raise authorizer.refusal_of(decision)
    return decision


def _decide(read: Read, entity: CdapName, actor: Actor) -> Decision:
    ask = replace(_ask(read.requirement, entity.urn, read), operation=read.operation.name)
    return authorizer.answer_logged(asks=[(actor, ask)])[0]


def _ask(requirement: Requirement, urn: str, read: Read) -> Ask:
    return Ask(requirement, Asked(urn, read.operation.kind), relatives=read.relatives)


def _could_list(entity: CdapName, actor: Actor) -> bool:
    """Whether the actor would see the entity in a list if it were there; everybody sees the namespaces (CD-13)."""
    if entity.kind in (cdap_entity_ids.NAMESPACE, cdap_entity_ids.INSTANCE):
        return True
    requirement = cdap.requirement(f"{entity.kind}.list")
    return authorizer.answer(actor=actor, ask=Ask(requirement, Asked(entity.urn, entity.kind))).is_allowed


def _known(urns: Sequence[str]) -> frozenset[str]:
    return frozenset(authorizer.facets().known(urns=urns)) | (frozenset(urns) & {INSTANCE_URN})


# -- what lies in a place ---------------------------------------------------------------------------------------------


def _of_place(read: Read, place: CdapName, actor: Actor, *, by: Actor, door: str) -> Found | Emptied:
    """List or empty a place. One that is not there has nothing in it for those who could not see it (CD-22)."""
    if not _known([place.urn]) and _could_list(place, actor):
        raise NotFound(f"There is no entity {place.urn}.")
    kind = read.operation.kind
    if read.operation.applied is cdap.Applied.LIST:
        return _listed(kind, place, actor)
    return _empty(kind, place, actor, by=by, door=door)


def _listed(kind: str, place: CdapName, actor: Actor) -> Found:
    there = _there(kind, place)
    if kind != cdap_entity_ids.NAMESPACE:
        return Found(_urns(_reached(there, actor, cdap.LISTING)))
    return Found(_urns(there), _urns(_reached(there, actor, cdap.PRIVILEGES)))


def _empty(kind: str, place: CdapName, actor: Actor, *, by: Actor, door: str) -> Emptied:
    """Delete what the actor may delete, each entity in a transaction of its own, in the order of their URNs (CD-14)."""
    if kind == cdap_entity_ids.INSTANCE:
        raise Conflict(_STAYS)
    urns, seen = _urns(_there(kind, place)), frozenset(_listed(kind, place, actor).returned)
    deleted: list[str] = []
    errors: list[Refused] = []
    hidden = 0
    for urn, judged in _judged(kind, urns, actor):
        missing = judged or _deleted(kind, urn, actor, by=by, door=door)
        if missing is None:
            continue
        if not missing:
            deleted.append(urn)
        elif urn in seen:
            errors.append(Refused(urn, missing))
        else:
            hidden += 1
    return Emptied(tuple(deleted), tuple(errors), hidden)


def _judged(kind: str, urns: Sequence[str], actor: Actor) -> list[tuple[str, tuple[Missing, ...]]]:
    """Return what is missing to delete each of them, nothing for those that may go."""
    requirement = cdap.requirement(f"{kind}.{cdap.Applied.DELETE_ALL.value}")
    found: list[tuple[str, tuple[Missing, ...]]] = []
    for start in range(0, len(urns), _CHUNK):
        some = urns[start : start + _CHUNK]
        decisions = authorizer.answer_many(asks=[(actor, Ask(requirement, Asked(urn, kind))) for urn in some])
        found += [
            (urn, () if decision.is_allowed else decision.missing)
            for urn, decision in zip(some, decisions, strict=True)
        ]
    return found


def _deleted(kind: str, urn: str, actor: Actor, *, by: Actor, door: str) -> tuple[Missing, ...] | None:
    """Delete one entity; return what is missing by now, None when somebody else was faster."""
    read = _read(Said(f"{kind}.{cdap.Applied.DELETE.value}", urn))
    try:
        _delete(read, _entity_of(read), actor, by=by, door=door)
    except NotFound:
        return None
    except Forbidden as error:
        return error.missing
    return ()


def _there(kind: str, place: CdapName) -> QuerySet[Entity]:
    """Return the entities of a kind in a place; removed ones are on no list."""
    found = entity_lists.contents(place=[place.urn], kind=kind)
    if kind == place.kind:
        found = Entity.objects.filter(urn=place.urn)
    return found.filter(is_removed=False)


def _reached(rows: QuerySet[Entity], actor: Actor, privileges: Sequence[str]) -> QuerySet[Entity]:
    """Keep the entities on which the actor holds any of the privileges."""
    found = Q(pk__in=[])
    for privilege in privileges:
        coverage = authorizer.visible(actor=actor, privilege=privilege)
        found |= Q(pk__in=coverage_sql.covered(coverage).order_by().values("pk"))
    return rows.filter(found)


def _urns(rows: QuerySet[Entity]) -> tuple[str, ...]:
    return tuple(rows.order_by("urn").values_list("urn", flat=True))
