"""The only way into the catalog: every interface and the file import pass proposals to `apply`.

One call is checked, authorized and written in one transaction, or not at all. Aspects stored in `policies` (of users,
groups, roles, policies) are passed to its services after the documents, and never stored as documents.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from django.conf import settings
from django.utils import timezone

from catalog import urns as catalog_urns
from catalog.access import aspect_documents
from catalog.access.disclosure import VisibleDocuments, find_write_refusal
from catalog.ingest import deletes, patching, required_privileges, validate
from catalog.ingest.validate import ChangeType, Proposal, ValidatedProposal
from catalog.ingest.write_set import WriteSet, aspect_exists_problem, entity_exists_problem
from catalog.models import Entity
from policies.aspects import services as people_aspects
from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.errors import Forbidden, Invalid
from policies.models import Gate, open_write, retry_deadlock
from policies.pdp import display_names
from policies.pdp.access_requests import AccessRequest

__all__ = ["ApplyResult", "ChangeType", "EntityIds", "Proposal", "apply", "find_change_refusal"]


@dataclass(frozen=True, slots=True)
class EntityIds:
    """New ids of an entity: `object_id` None leaves it unchanged; `project` is set only with `has_project`."""

    object_id: str | None = None
    project: str | None = None
    has_project: bool = False

    def has_other_ids(self, entity: Entity) -> bool:
        """Whether these are other ids than those of a stored entity."""
        is_other_object = self.object_id is not None and self.object_id != entity.object_id
        return is_other_object or (self.has_project and self.project != entity.project)


@dataclass(frozen=True, slots=True)
class ApplyResult:
    """Result of a call: the URNs of its proposals in order, and the URNs whose facts or documents were touched.

    `lints` name the policies that the call disabled and the reasons, with pointers into the payload.
    """

    urns: tuple[str, ...] = ()
    touched_urns: frozenset[str] = field(default_factory=frozenset)
    lints: tuple[Problem, ...] = ()


@retry_deadlock
def apply(
    *,
    proposals: Sequence[Proposal],
    by: Actor,
    channel: str,
    registrations: Mapping[str, EntityIds] | None = None,
    is_open: bool = False,
    is_ingestion: bool = False,
    check: Callable[[], None] | None = None,
) -> ApplyResult:
    """Check, authorize and write changes to aspects, all or none.

    `registrations` are entities to register with their ids, in addition to the proposals (the API of entities).
    `is_open` (REST_API_AUTHORIZATION switched off) lets every caller write ordinary entities; those of GUARDED_TYPES
    stay guarded. `is_ingestion` says that these are proposals of DataHub's clients: for them alone
    MCP_VALIDATION_PRIVILEGE_CONSTRAINTS can be switched off. `check` may refuse authorized changes before anything is
    written. Raises Invalid with every problem, Forbidden with everything that is missing; for hidden entities the
    refusal is the same as for ones that are not stored.
    """
    if not by.is_active:
        raise Forbidden((), f"{by.urn} is suspended.")
    items = validate.check(proposals)
    ids_by_urn = registrations or {}
    people_items = [item for item in items if _is_of_people(item)]
    catalog_items = [item for item in items if not _is_of_people(item)]
    # Writers of people only do not wait for writers of documents.
    with open_write(Gate.PEOPLE if people_items and not catalog_items and not ids_by_urn else Gate.CATALOG):
        catalog_refusal, touched_urns = _apply_to_catalog(
            catalog_items,
            ids_by_urn,
            by=by,
            channel=channel,
            is_open=is_open,
            is_ingestion=is_ingestion,
            check=check,
        )
        people_refusal, problems, lints = _apply_to_people(people_items, by=by, channel=channel, is_open=is_open)
        refusals = [refusal for refusal in (catalog_refusal, people_refusal) if refusal is not None]
        if refusals:
            raise Forbidden.join(refusals)
        if problems:
            raise Invalid(problems)
    return ApplyResult(tuple(item.urn.text for item in items), touched_urns, lints)


def _apply_to_catalog(
    items: Sequence[ValidatedProposal],
    ids_by_urn: Mapping[str, EntityIds],
    *,
    by: Actor,
    channel: str,
    is_open: bool,
    is_ingestion: bool,
    check: Callable[[], None] | None,
) -> tuple[Forbidden | None, frozenset[str]]:
    """Write documents and entities; return (None, touched URNs) or (refusal, no URNs)."""
    if not items and not ids_by_urn:
        return None, frozenset()
    now = timezone.now()
    items = patching.apply_patches(items, by=by, now=now, is_open=is_open)
    write_set = WriteSet(
        entity_urns=[*{item.urn.text for item in items}, *ids_by_urn],
        aspects={item.aspect for item in items} | required_privileges.COMPARED_ASPECTS,
        by=by.urn,
        channel=channel,
        now=now,
    )
    refusal = find_change_refusal(items, write_set, ids_by_urn, by=by, is_open=is_open, is_ingestion=is_ingestion)
    if refusal is not None:
        return refusal, frozenset()
    if check is not None:
        check()
    touched_urns = _write(items, write_set, ids_by_urn)
    removed_urns = [item.urn.text for item in items if item.is_removal_of_entity]
    if removed_urns:
        touched_urns |= deletes.delete_entities(urns=removed_urns, by=by.urn, channel=channel)
    return None, touched_urns


def _is_of_people(item: ValidatedProposal) -> bool:
    """Whether the aspect is stored in `policies`. The key of a person is not: `deletes.delete` deletes the person."""
    return (item.urn.type, item.aspect) in people_aspects.OWNED_ASPECTS


def find_change_refusal(
    items: Sequence[ValidatedProposal],
    write_set: WriteSet,
    ids_by_urn: Mapping[str, EntityIds],
    *,
    by: Actor,
    is_open: bool = False,
    is_ingestion: bool = False,
) -> Forbidden | None:
    """Return the refusal of these changes to documents and registrations, None when all are allowed."""
    existing_urns = write_set.stored_urns | _list_existing_people(items)
    guarded_items = [item for item in items if not is_open or item.urn.type in catalog_urns.GUARDED_TYPES]
    guarded_registrations = [
        urn for urn in ids_by_urn if not is_open or catalog_urns.entity_type(urn) in catalog_urns.GUARDED_TYPES
    ]
    described_urns = {item.urn.text for item in items}

    def build_requests(hidden_urns: Collection[str]) -> list[AccessRequest]:
        visible_urns = existing_urns.difference(hidden_urns)
        requests: list[AccessRequest] = required_privileges.build_change_requests(
            guarded_items,
            VisibleDocuments(write_set, hidden_urns) if hidden_urns else write_set,
            existing_urns=visible_urns,
            with_constraints=settings.MCP_VALIDATION_PRIVILEGE_CONSTRAINTS or not is_ingestion,
            registered_urns=[
                urn
                for urn in guarded_registrations
                # An entity that is there already and keeps its ids is written, and its documents are judged alone.
                if urn not in visible_urns
                or urn not in described_urns
                or ids_by_urn[urn].has_other_ids(write_set.entities[urn])
            ],
        )
        return _deduplicate(requests)

    named_urns = {*(item.urn.text for item in items), *ids_by_urn}
    return find_write_refusal(
        by=by,
        requests=build_requests(()),
        urns=existing_urns & named_urns,
        build_absent_requests=build_requests,
    )


def _deduplicate(requests: Sequence[AccessRequest]) -> list[AccessRequest]:
    """Drop duplicates: the aspects of one entity often need the same privileges."""
    return list(
        {
            (request.requirement, request.resource, request.subresources, _relatives_key(request)): request
            for request in requests
        }.values()
    )


def _relatives_key(request: AccessRequest) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple(sorted(request.relatives.items()))


def _list_existing_people(items: Collection[ValidatedProposal]) -> frozenset[str]:
    urns = {item.urn.text for item in items if item.urn.type in catalog_urns.PEOPLE_TYPES}
    return frozenset(display_names.load_names(urns=urns)) if urns else frozenset()


def _check_creations(items: Sequence[ValidatedProposal]) -> tuple[list[ValidatedProposal], list[Problem]]:
    """Return the items, and a problem for each that creates something existing.

    An optional one writes the existing document instead: it changes nothing and needs the privileges of the write.
    """
    create_items = [item for item in items if item.change in _CREATE_CHANGES]
    if not create_items:
        return list(items), []
    existing_urns = _list_existing_people(create_items)
    existing_texts = aspect_documents.load_texts(keys={item.key for item in create_items})
    checked_items: list[ValidatedProposal] = []
    problems: list[Problem] = []
    for item in items:
        already_exists = (
            item.key in existing_texts if item.change is ChangeType.CREATE else item.urn.text in existing_urns
        )
        if item.change not in _CREATE_CHANGES or not already_exists:
            checked_items.append(item)
            if item.change is ChangeType.CREATE:
                existing_texts[item.key] = item.proposal.document or ""
        elif item.proposal.is_optional and item.key in existing_texts:
            checked_items.append(replace(item, parsed_document=json.loads(existing_texts[item.key])))
        else:
            checked_items.append(item)
            problems.append(
                aspect_exists_problem(item) if item.change is ChangeType.CREATE else entity_exists_problem(item)
            )
    return checked_items, problems


_CREATE_CHANGES = (ChangeType.CREATE, ChangeType.CREATE_ENTITY)


def _apply_to_people(
    items: Sequence[ValidatedProposal], *, by: Actor, channel: str, is_open: bool
) -> tuple[Forbidden | None, list[Problem], tuple[Problem, ...]]:
    """Write the aspects stored in `policies`; return the refusal, problems of creations, and lints."""
    if not items:
        return None, [], ()
    with open_write(Gate.PEOPLE):
        checked_items, problems = _check_creations(
            patching.apply_patches(items, by=by, now=timezone.now(), is_open=is_open)
        )
        refusal, lints = _write_people(checked_items, by=by, channel=channel)
    return refusal, problems, lints


def _write_people(
    items: Sequence[ValidatedProposal], *, by: Actor, channel: str
) -> tuple[Forbidden | None, tuple[Problem, ...]]:
    """Write users, groups, roles and policies; return the refusal, if any, and lints."""
    changes = [
        people_aspects.AspectChange(
            urn=item.urn.text,
            entity_type=item.urn.type,
            name=item.aspect,
            document=None if item.parsed_document is None else dict(item.parsed_document),
            is_patch=item.is_patched,
            removed_paths=item.removed_paths,
        )
        for item in items
    ]
    try:
        lints = people_aspects.apply(changes=changes, by=by, channel=channel)
    except Invalid as error:
        raise Invalid([_to_item_problem(problem, items) for problem in error.problems]) from error
    except Forbidden as error:
        if not error.missing:
            raise
        return error, ()
    return None, tuple(_to_item_problem(lint, items) for lint in lints)


def _to_item_problem(problem: Problem, items: Sequence[ValidatedProposal]) -> Problem:
    """Return a problem of `policies`, whose pointer counts its own changes, with a pointer into the payload."""
    _, position, *steps = problem.pointer.split("/")
    if not position.isdigit() or int(position) >= len(items):
        return problem
    item = items[int(position)]
    pointer = f"{item.pointer}/entityUrn" if steps == ["urn"] else "/".join((item.document_pointer, *steps))
    return Problem(problem.code, pointer, problem.detail)


def _write(
    items: Sequence[ValidatedProposal], write_set: WriteSet, ids_by_urn: Mapping[str, EntityIds]
) -> frozenset[str]:
    for urn, ids in ids_by_urn.items():
        if ids.has_project:
            write_set.register(urn, object_id=ids.object_id, project=ids.project)
        else:
            write_set.register(urn, object_id=ids.object_id)
    document_items = [item for item in items if not item.is_removal_of_entity]
    problems = write_set.apply(document_items)
    if problems:
        raise Invalid(problems)
    return write_set.save()
