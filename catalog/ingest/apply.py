"""The one way into the catalog: every door, and the loader of files, hands proposals to `apply`.

All of a call is checked, authorized and written in one transaction, or nothing is. What has its home in `policies`
(users, groups, roles, policies) goes to its services, after the documents, and is never stored as one.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from django.conf import settings
from django.utils import timezone

from catalog import urns as urn_room
from catalog.access import aspect_documents, view_permissions
from catalog.access.disclosure import DocumentsWithout, find_refusal, find_refusal_as_absent
from catalog.ingest import deletes, patching, required_privileges, validate
from catalog.ingest.validate import ChangeType, Item, Proposal
from catalog.ingest.write_set import Ledger, aspect_exists, entity_exists
from policies.aspects import services as people_aspects
from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.errors import Forbidden, Invalid
from policies.models import Gate, open_write, retry_deadlock
from policies.pdp import display_names
from policies.pdp.authorizer import Ask

__all__ = ["Applied", "ChangeType", "Ids", "Proposal", "apply"]


@dataclass(frozen=True, slots=True)
class Ids:
    """Ids of an entity as they are to be: `object_id` None leaves it; `project` counts only with `has_project`."""

    object_id: str | None = None
    project: str | None = None
    has_project: bool = False


@dataclass(frozen=True, slots=True)
class Applied:
    """What a call did: the URNs of its proposals in order, and those whose facts or documents were touched.

    `lints` say which policies were put out of force and why, each at its place in what was sent.
    """

    urns: tuple[str, ...] = ()
    touched: frozenset[str] = field(default_factory=frozenset)
    lints: tuple[Problem, ...] = ()


@retry_deadlock
def apply(
    *,
    proposals: Sequence[Proposal],
    by: Actor,
    door: str,
    registered: Mapping[str, Ids] | None = None,
    is_open: bool = False,
    check: Callable[[], None] | None = None,
) -> Applied:
    """Check, authorize and write changes to aspects, all or none.

    `registered` are entities to be noted, with their ids, beside what the proposals say of them (the API of entities).
    `is_open` (REST_API_AUTHORIZATION switched off) lets every caller write ordinary entities; people, roles and
    policies stay guarded. `check` may refuse what was authorized before anything is written. Raises Invalid with every
    problem, Forbidden with everything that is missing; about what the caller may not view the words are those for what
    is not stored.
    """
    if not by.is_active:
        raise Forbidden((), f"{by.urn} is suspended.")
    items = validate.check(proposals)
    noted = registered or {}
    theirs = [item for item in items if _is_of_people(item)]
    ours = [item for item in items if not _is_of_people(item)]
    # Who writes only people does not wait for whoever stores documents.
    with open_write(Gate.PEOPLE if theirs and not ours and not noted else Gate.CATALOG):
        refused, touched = _apply_to_catalog(ours, noted, by=by, door=door, is_open=is_open, check=check)
        lacking, problems, lints = _apply_to_people(theirs, by=by, door=door, is_open=is_open)
        refusals = [one for one in (refused, lacking) if one is not None]
        if refusals:
            raise Forbidden.join(refusals)
        if problems:
            raise Invalid(problems)
    return Applied(tuple(item.urn.text for item in items), touched, lints)


def _apply_to_catalog(
    items: Sequence[Item],
    noted: Mapping[str, Ids],
    *,
    by: Actor,
    door: str,
    is_open: bool,
    check: Callable[[], None] | None,
) -> tuple[Forbidden | None, frozenset[str]]:
    """Write documents and entities and return the URNs that were touched, or what the actor lacks."""
    if not items and not noted:
        return None, frozenset()
    now = timezone.now()
    items = patching.settled(items, by=by, now=now, is_open=is_open)
    ledger = Ledger(
        wanted=[*{item.urn.text for item in items}, *noted],
        aspects={item.aspect for item in items} | required_privileges.COMPARED,
        by=by.urn,
        door=door,
        now=now,
    )
    refused = _find_refusal(items, ledger, noted, by=by, is_open=is_open)
    if refused is not None:
        return refused, frozenset()
    if check is not None:
        check()
    touched = _write(items, ledger, noted)
    removed = [item.urn.text for item in items if item.is_removal_of_entity]
    if removed:
        touched |= deletes.forget(urns=removed, by=by.urn, door=door)
    return None, touched


def _is_of_people(item: Item) -> bool:
    """Whether the home of the aspect is `policies`. A person's key goes with the person, through `deletes.delete`."""
    return (item.urn.type, item.aspect) in people_aspects.OWNED


def _find_refusal(
    items: Sequence[Item], ledger: Ledger, noted: Mapping[str, Ids], *, by: Actor, is_open: bool
) -> Forbidden | None:
    known = ledger.stored | _known_people(items)
    guarded = [item for item in items if not (is_open and item.urn.type not in urn_room.PEOPLE_TYPES)]
    with_constraints = settings.MCP_VALIDATION_PRIVILEGE_CONSTRAINTS
    asks: list[Ask] = required_privileges.asks(
        guarded, ledger, known=known, with_constraints=with_constraints, registered=() if is_open else noted.keys()
    )
    refusal = find_refusal(by=by, asks=_once(asks))
    named = {*(item.urn.text for item in items), *noted}
    unseen = view_permissions.hidden(urns=known & named, by=by) if refusal else frozenset[str]()
    if not unseen:
        return refusal
    as_absent = required_privileges.asks(
        guarded,
        DocumentsWithout(ledger, unseen),
        known=known - unseen,
        with_constraints=with_constraints,
        registered=() if is_open else noted.keys(),
    )
    return find_refusal_as_absent(by=by, asks=_once(as_absent), unseen=unseen)


def _once(asks: Sequence[Ask]) -> list[Ask]:
    """Drop repetitions: the aspects of one entity mostly need the same."""
    return list({(ask.requirement, ask.resource, ask.subresources, _frozen(ask)): ask for ask in asks}.values())


def _frozen(ask: Ask) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple(sorted(ask.relatives.items()))


def _known_people(items: Collection[Item]) -> frozenset[str]:
    urns = {item.urn.text for item in items if item.urn.type in urn_room.PEOPLE_TYPES}
    return frozenset(display_names.names(urns=urns)) if urns else frozenset()


def _creations(items: Sequence[Item]) -> tuple[list[Item], list[Problem]]:
    """Return the items, and a problem for each that makes what is there.

    An optional one writes what is there instead: it changes nothing and needs what the write would need.
    """
    making = [item for item in items if item.change in _MAKING]
    if not making:
        return list(items), []
    entities = _known_people(making)
    aspects = aspect_documents.texts(keys={item.key for item in making})
    found: list[Item] = []
    problems: list[Problem] = []
    for item in items:
        is_there = item.key in aspects if item.change is ChangeType.CREATE else item.urn.text in entities
        if item.change not in _MAKING or not is_there:
            found.append(item)
            if item.change is ChangeType.CREATE:
                aspects[item.key] = item.proposal.document or ""
        elif item.proposal.is_optional and item.key in aspects:
            found.append(replace(item, parsed=json.loads(aspects[item.key])))
        else:
            found.append(item)
            problems.append(aspect_exists(item) if item.change is ChangeType.CREATE else entity_exists(item))
    return found, problems


_MAKING = (ChangeType.CREATE, ChangeType.CREATE_ENTITY)


def _apply_to_people(
    items: Sequence[Item], *, by: Actor, door: str, is_open: bool
) -> tuple[Forbidden | None, list[Problem], tuple[Problem, ...]]:
    """Hand over what belongs to `policies`; return what the actor lacks, what cannot be made, and lints."""
    if not items:
        return None, [], ()
    with open_write(Gate.PEOPLE):
        found, problems = _creations(patching.settled(items, by=by, now=timezone.now(), is_open=is_open))
        lacking, lints = _write_people(found, by=by, door=door)
    return lacking, problems, lints


def _write_people(items: Sequence[Item], *, by: Actor, door: str) -> tuple[Forbidden | None, tuple[Problem, ...]]:
    """Write users, groups, roles and policies; return what the actor lacks, if anything, and lints."""
    changes = [
        people_aspects.AspectChange(
            urn=item.urn.text,
            entity_type=item.urn.type,
            name=item.aspect,
            document=None if item.parsed is None else dict(item.parsed),
            is_patch=item.is_patched,
        )
        for item in items
    ]
    try:
        lints = people_aspects.apply(changes=changes, by=by, door=door)
    except Invalid as error:
        raise Invalid([_placed(problem, items) for problem in error.problems]) from error
    except Forbidden as error:
        if not error.missing:
            raise
        return error, ()
    return None, tuple(_placed(lint, items) for lint in lints)


def _placed(problem: Problem, items: Sequence[Item]) -> Problem:
    """Return a problem found by `policies`, which counts its own changes, at its place in what was sent."""
    _, position, *steps = problem.pointer.split("/")
    if not position.isdigit() or int(position) >= len(items):
        return problem
    item = items[int(position)]
    place = f"{item.place}/entityUrn" if steps == ["urn"] else "/".join((item.document_place, *steps))
    return Problem(problem.code, place, problem.detail)


def _write(items: Sequence[Item], ledger: Ledger, noted: Mapping[str, Ids]) -> frozenset[str]:
    for urn, ids in noted.items():
        if ids.has_project:
            ledger.register(urn, object_id=ids.object_id, project=ids.project)
        else:
            ledger.register(urn, object_id=ids.object_id)
    kept = [item for item in items if not item.is_removal_of_entity]
    problems = ledger.apply(kept)
    if problems:
        raise Invalid(problems)
    return ledger.save()
