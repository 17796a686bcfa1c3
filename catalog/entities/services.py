"""Entities as `/api/v1/entities` writes them (api.md 3.3): registered with their ids, changed, deleted.

A name given here is stored as a document of our own, so that everything projected is still derived from documents.
"""

import json
import re
import secrets
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError
from pydantic_core import PydanticCustomError

from catalog import errors, urns
from catalog.access import disclosure, entity_lists, view_permissions
from catalog.aspects import projection, register
from catalog.aspects.register import REGISTRATION
from catalog.ingest import apply, deletes
from catalog.ingest.apply import EntityIds, Proposal
from catalog.models import Entity
from policies.engine.errors import MAX_PROBLEMS, Problem
from policies.engine.families import cdap_entity_ids
from policies.engine.model import Actor
from policies.errors import Conflict, Invalid
from policies.models import Gate, open_write
from policies.models.fields import is_storable

#: Maximum number of entities in one call.
MAX_ENTITIES = 1000

#: Datazone's types (rules/datazone.md); an object of one without a URN is named by its object id.
DATAZONE_TYPES = frozenset(
    {
        "api_key",
        "compute",
        "dataset",
        "endpoint",
        "extract",
        "intelligent_app",
        "notebook",
        "pipeline",
        "project",
        "schedule",
        "variable",
        "view",
    }
)
#: Datazone's users and roles are those of this product; a `role` with a URN is an external role.
_RESERVED_TYPES = frozenset({"user", "role"})

_OBJECT_ID_PATTERN = re.compile(r"[0-9a-fA-F]{24}")
_UNKNOWN_CODE = "entity.unknown"
_NO_PROJECT_MESSAGE = "There is no project with this object id."


def _parse_object_id(text: str) -> str:
    if not _OBJECT_ID_PATTERN.fullmatch(text):
        raise PydanticCustomError("object_id", "An object id is 24 hexadecimal digits.")
    return text.lower()


BodyT = TypeVar("BodyT", bound="_EntityUpdate")
ObjectId = Annotated[str, AfterValidator(_parse_object_id)]


class _EntityUpdate(BaseModel):
    """The fields that may change; fields not sent are not in `model_fields_set`."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str | None = None
    project: ObjectId | None = None
    aspects: dict[str, dict[str, Any]] = {}


class _EntityDraft(_EntityUpdate):
    """An entity to register."""

    type: str
    urn: str | None = None
    object_id: ObjectId | None = None


def create(*, bodies: Sequence[Any], by: Actor, channel: str) -> list[Entity]:
    """Register entities, a project before its contents, all or none; return their rows in order.

    `bodies` are parsed JSON objects in the shape of api.md 3.3. Existing entities are updated with the fields sent.
    Raises Invalid with every problem (pointers `/<index>/<field>`), Conflict for an object id of another entity,
    Forbidden with everything that is missing.
    """
    if len(bodies) > MAX_ENTITIES:
        raise Invalid.from_problem(
            code="list.too_long", pointer="", detail=f"At most {MAX_ENTITIES} entities may be sent at once."
        )
    drafts = _parse_drafts(bodies)
    with open_write(Gate.CATALOG):
        entity_urns, id_conflicts = _resolve_urns(drafts, by=by)
        _check_projects(drafts)
        new_proposals: list[Proposal] = []
        for index, (urn, draft) in enumerate(zip(entity_urns, drafts, strict=True)):
            new_proposals += _build_proposals(urn, draft, f"/{index}")
        registrations = {urn: _build_ids(draft) for urn, draft in zip(entity_urns, drafts, strict=True)}
        domains = _collect_product_domains(drafts, entity_urns, by=by)
        # Compared only after authorization, because a conflict shows that an object exists.
        apply.apply(
            proposals=new_proposals,
            registrations=registrations,
            by=by,
            channel=channel,
            check=lambda: _check_ids(drafts, entity_urns, id_conflicts),
        )
        # Checked last, so that only a caller who may create a product there learns whether the domain exists.
        _check_domains(domains)
        rows = {row.urn: row for row in Entity.objects.filter(urn__among=entity_urns)}
    return [rows[urn] for urn in entity_urns]


def update(*, urn: str, body: Any, by: Actor, channel: str) -> Entity:
    """Change the fields sent (`name`, `project`, `aspects`) of an entity and return its row.

    Raises NotFound, Invalid (pointers `/<field>`) and Forbidden.
    """
    change, problems = _parse_body(_EntityUpdate, body, "")
    with open_write(Gate.CATALOG):
        entity_lists.get(urn=urn)
        disclosure.require_visible(urn=urn, by=by)
        if change is None or problems:
            raise Invalid(problems)
        if change.project is not None and not _list_existing_projects([change.project]):
            raise Invalid.from_problem(code=_UNKNOWN_CODE, pointer="/project", detail=_NO_PROJECT_MESSAGE)
        apply.apply(
            proposals=_build_proposals(urn, change, ""), registrations={urn: _build_ids(change)}, by=by, channel=channel
        )
        return entity_lists.get(urn=urn)


def delete(*, urn: str, by: Actor, channel: str) -> None:
    """Delete an entity with its grants. Children stay and lose their parent. Raises NotFound and Forbidden."""
    with open_write(Gate.CATALOG):
        entity_lists.get(urn=urn)
        disclosure.require_visible(urn=urn, by=by)
        deletes.delete(urn=urn, by=by, channel=channel)


def _parse_drafts(bodies: Sequence[Any]) -> list[_EntityDraft]:
    drafts: list[_EntityDraft] = []
    problems: list[Problem] = []
    for index, body in enumerate(bodies):
        draft, draft_problems = _parse_body(_EntityDraft, body, f"/{index}")
        problems += draft_problems or ([] if draft is None else _check_identity(draft, f"/{index}"))
        if draft is not None:
            drafts.append(draft)
        if len(problems) > MAX_PROBLEMS:
            break
    if problems:
        raise Invalid(problems)
    return drafts


def _parse_body(model: type[BodyT], body: Any, pointer: str) -> tuple[BodyT | None, list[Problem]]:
    try:
        return model.model_validate(body), []
    except ValidationError as error:
        return None, [
            Problem(f"entity.{detail['type']}", pointer + errors.json_pointer(detail["loc"]), detail["msg"])
            for detail in error.errors(include_url=False, include_context=False, include_input=False)
        ]


def _check_identity(draft: _EntityDraft, pointer: str) -> list[Problem]:
    if draft.type in urns.PEOPLE_TYPES or (draft.type in _RESERVED_TYPES and draft.urn is None):
        detail = "Users, groups, roles and policies are made at /users/, /groups/, /roles/ and /policies/."
        return [Problem("type.people", f"{pointer}/type", detail)]
    if draft.urn is not None:
        problem = urns.find_problem(draft.urn, f"{pointer}/urn", (draft.type,)) or _check_cdap_name(draft, pointer)
        return [] if problem is None else [problem]
    if draft.type not in DATAZONE_TYPES and draft.object_id is None:
        return [
            Problem("entity.missing", f"{pointer}/urn", "An entity of this type is named by a URN or an object id.")
        ]
    problem = urns.find_problem(f"urn:li:{draft.type}:{draft.object_id or '0' * 24}", f"{pointer}/type")
    return [] if problem is None else [problem]


def _check_cdap_name(draft: _EntityDraft, pointer: str) -> Problem | None:
    """Remove the version from a CDAP URN (rules/cdap.md CD-20); return a problem for an own kind with any other URN."""
    name = cdap_entity_ids.parse(draft.urn or "")
    if name is not None:
        draft.urn = name.urn
    elif draft.type in cdap_entity_ids.OWN_KINDS:
        return Problem("entity.not_cdap", f"{pointer}/urn", f"This names no {draft.type}; see what it lies in.")
    return None


def _resolve_urns(drafts: Sequence[_EntityDraft], *, by: Actor) -> tuple[list[str], list[str]]:
    """Return the URN of each draft: its own, that of the existing object with its id, or one made of its id.

    An object that the caller may not view counts as unknown. Also returned are the conflicts of ids that belong to
    other objects, in sentences that name no hidden object.
    """
    object_ids = [draft.object_id for draft in drafts if draft.object_id is not None]
    rows = Entity.objects.filter(object_id__among=object_ids).order_by().values_list("type", "object_id", "urn")
    urns_by_id = {(type_, object_id): urn for type_, object_id, urn in rows}
    hidden_urns = view_permissions.find_hidden(urns=set(urns_by_id.values()), by=by)
    entity_urns: list[str] = []
    id_conflicts: list[str] = []
    for draft in drafts:
        if draft.object_id is None and draft.urn is None:
            draft.object_id = secrets.token_hex(12)
        known_urn = urns_by_id.get((draft.type, draft.object_id)) if draft.object_id is not None else None
        visible_urn = None if known_urn in hidden_urns else known_urn
        urn = draft.urn or visible_urn or urns.make(draft.type, str(draft.object_id))
        if known_urn not in (None, urn):
            owner_text = "taken" if visible_urn is None else f"that of {known_urn}"
            id_conflicts.append(f"The object id {draft.object_id} is {owner_text}.")
        elif draft.object_id is not None:
            urns_by_id[draft.type, draft.object_id] = urn
        entity_urns.append(urn)
    return entity_urns, id_conflicts


def _check_ids(drafts: Sequence[_EntityDraft], entity_urns: Sequence[str], id_conflicts: Sequence[str]) -> None:
    """Raise Conflict for the id of another object, and for a changed id, because policies name objects by it."""
    if id_conflicts:
        raise Conflict(id_conflicts[0])
    rows = Entity.objects.filter(urn__among=entity_urns, object_id__isnull=False).order_by()
    ids_by_urn = dict(rows.values_list("urn", "object_id"))
    for urn, draft in zip(entity_urns, drafts, strict=True):
        if draft.object_id is not None and ids_by_urn.setdefault(urn, draft.object_id) != draft.object_id:
            raise Conflict(f"{urn} already has the object id {ids_by_urn[urn]}.")


def _check_projects(drafts: Sequence[_EntityDraft]) -> None:
    problems: list[Problem] = []
    project_ids = [draft.project for draft in drafts if draft.project is not None]
    existing_ids = set(_list_existing_projects(project_ids))
    for index, draft in enumerate(drafts):
        if draft.project is not None and draft.project not in existing_ids:
            problems.append(Problem(_UNKNOWN_CODE, f"/{index}/project", _NO_PROJECT_MESSAGE))
        if draft.type == "project" and draft.object_id is not None:
            existing_ids.add(draft.object_id)
    if problems:
        raise Invalid(problems)


def _collect_product_domains(
    drafts: Sequence[_EntityDraft], entity_urns: Sequence[str], *, by: Actor
) -> dict[str, tuple[str, ...]]:
    """Return pointer -> domains of each new data product; one that the caller may not view counts as new.

    Raises Invalid for a product without a domain: the domain decides who manages its products (source 000).
    """
    products = [index for index, draft in enumerate(drafts) if draft.type == "dataProduct"]
    stored_rows = Entity.objects.filter(urn__among=[entity_urns[index] for index in products]).order_by()
    existing_urns = set(stored_rows.values_list("urn", flat=True)) if products else set()
    existing_urns -= view_permissions.find_hidden(urns=existing_urns, by=by)
    domains_by_pointer: dict[str, tuple[str, ...]] = {}
    problems: list[Problem] = []
    for index in products:
        if entity_urns[index] in existing_urns:
            continue
        pointer = f"/{index}/aspects/domains"
        document = drafts[index].aspects.get("domains")
        if document is None:
            problems.append(Problem("product.domain", pointer, "A data product is made in a domain: name it here."))
        elif not register.check("domains", document):
            urn = urns.parse(entity_urns[index])
            facts = projection.read_facts("domains", _serialize_document(document), urn).facets
            domains_by_pointer[pointer] = tuple(facet.value for facet in facts)
    if problems:
        raise Invalid(problems)
    return domains_by_pointer


def _check_domains(domains: Mapping[str, Collection[str]]) -> None:
    domain_urns = {urn for product_domains in domains.values() for urn in product_domains}
    rows = Entity.objects.filter(urn__among=list(domain_urns)).order_by()
    unknown_urns = domain_urns - set(rows.values_list("urn", flat=True)) if domain_urns else set()
    problems = [
        Problem(_UNKNOWN_CODE, pointer, f"There is no domain {urn}.")
        for pointer, product_domains in domains.items()
        for urn in product_domains
        if urn in unknown_urns
    ]
    if problems:
        raise Invalid(problems)


def _list_existing_projects(project_ids: list[str]) -> list[str]:
    rows = Entity.objects.filter(type="project", object_id__among=project_ids).order_by()
    return [object_id for object_id in rows.values_list("object_id", flat=True) if object_id is not None]


def _build_ids(change: _EntityUpdate) -> EntityIds:
    object_id = change.object_id if isinstance(change, _EntityDraft) else None
    return EntityIds(object_id, change.project, has_project="project" in change.model_fields_set)


def _build_proposals(urn: str, change: _EntityUpdate, pointer: str) -> list[Proposal]:
    new_proposals = [
        Proposal(
            urn,
            name,
            _serialize_document(document),
            pointer=pointer,
            document_pointer=pointer + errors.json_pointer(["aspects", name]),
        )
        for name, document in change.aspects.items()
    ]
    if change.name is not None:
        document = _serialize_document({"name": change.name})
        new_proposals.append(Proposal(urn, REGISTRATION, document, pointer=pointer, document_pointer=pointer))
    return new_proposals


def _serialize_document(document: Mapping[str, Any]) -> str:
    """Return a document as text; characters that UTF-8 cannot encode stay escaped, for `validate.check` to report."""
    text = json.dumps(document, ensure_ascii=False)
    return text if is_storable(text) else json.dumps(document)
