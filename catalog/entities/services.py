"""Entities as `/api/v1/entities` writes them (api.md 3.3): registered with their ids, changed, deleted.

A name that is given here is kept as a document of our own, so that everything projected still follows from documents.
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
from catalog.ingest.apply import Ids, Proposal
from catalog.models import Entity
from policies.engine.errors import MAX_PROBLEMS, Problem
from policies.engine.families import cdap_entity_ids
from policies.engine.model import Actor
from policies.errors import Conflict, Invalid
from policies.models import Gate, open_write
from policies.models.fields import is_storable

#: Longest list that one call may register.
MOST = 1000

#: Datazone's types (rules/datazone.md); an object of one that is given no URN is named by its object id.
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
_PEOPLE = frozenset({"user", "role"})

_OBJECT_ID = re.compile(r"[0-9a-fA-F]{24}")
_UNKNOWN = "entity.unknown"
_NO_PROJECT = "There is no project with this object id."


def _object_id(text: str) -> str:
    if not _OBJECT_ID.fullmatch(text):
        raise PydanticCustomError("object_id", "An object id is 24 hexadecimal digits.")
    return text.lower()


Body = TypeVar("Body", bound="_Change")
ObjectId = Annotated[str, AfterValidator(_object_id)]


class _Change(BaseModel):
    """The fields that may change; what was not sent is not in `model_fields_set`."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str | None = None
    project: ObjectId | None = None
    aspects: dict[str, dict[str, Any]] = {}


class _Draft(_Change):
    """An entity as it is registered."""

    type: str
    urn: str | None = None
    object_id: ObjectId | None = None


def create(*, bodies: Sequence[Any], by: Actor, door: str) -> list[Entity]:
    """Register entities, a project before what is in it, all or none; return their rows in order.

    `bodies` are parsed JSON objects in the shape of api.md 3.3. What is known already is updated with the fields sent.
    Raises Invalid with every problem (places are `/<index>/<field>`), Conflict for an object id of another entity,
    Forbidden with everything that is missing.
    """
    if len(bodies) > MOST:
        raise Invalid.one(code="list.too_long", pointer="", detail=f"At most {MOST} entities may be sent at once.")
    drafts = _drafts(bodies)
    with open_write(Gate.CATALOG):
        named, taken = _named(drafts, by=by)
        _check_projects(drafts)
        found: list[Proposal] = []
        for index, (urn, draft) in enumerate(zip(named, drafts, strict=True)):
            found += _proposals(urn, draft, f"/{index}")
        ids = {urn: _ids(draft) for urn, draft in zip(named, drafts, strict=True)}
        domains = _domains_of_products(drafts, named, by=by)
        # Ids are compared once it is known that the caller may make or edit what it names.
        apply.apply(proposals=found, registered=ids, by=by, door=door, check=lambda: _check_ids(drafts, named, taken))
        # Afterwards, so that only who may make a product there learns whether there is such a domain.
        _check_domains(domains)
        rows = {row.urn: row for row in Entity.objects.filter(urn__among=named)}
    return [rows[urn] for urn in named]


def update(*, urn: str, body: Any, by: Actor, door: str) -> Entity:
    """Change the fields sent (`name`, `project`, `aspects`) of an entity and return its row.

    Raises NotFound, Invalid (places are `/<field>`) and Forbidden.
    """
    change, problems = _read(_Change, body, "")
    with open_write(Gate.CATALOG):
        entity_lists.get(urn=urn)
        disclosure.require_visible(urn=urn, by=by)
        if change is None or problems:
            raise Invalid(problems)
        if change.project is not None and not _projects([change.project]):
            raise Invalid.one(code=_UNKNOWN, pointer="/project", detail=_NO_PROJECT)
        apply.apply(proposals=_proposals(urn, change, ""), registered={urn: _ids(change)}, by=by, door=door)
        return entity_lists.get(urn=urn)


def delete(*, urn: str, by: Actor, door: str) -> None:
    """Remove an entity with its grants. Children stay and lose their parent. Raises NotFound and Forbidden."""
    with open_write(Gate.CATALOG):
        entity_lists.get(urn=urn)
        disclosure.require_visible(urn=urn, by=by)
        deletes.delete(urn=urn, by=by, door=door)


def _drafts(bodies: Sequence[Any]) -> list[_Draft]:
    drafts: list[_Draft] = []
    problems: list[Problem] = []
    for index, body in enumerate(bodies):
        draft, found = _read(_Draft, body, f"/{index}")
        problems += found or ([] if draft is None else _check_identity(draft, f"/{index}"))
        if draft is not None:
            drafts.append(draft)
        if len(problems) > MAX_PROBLEMS:
            break
    if problems:
        raise Invalid(problems)
    return drafts


def _read(shape: type[Body], body: Any, place: str) -> tuple[Body | None, list[Problem]]:
    try:
        return shape.model_validate(body), []
    except ValidationError as error:
        return None, [
            Problem(f"entity.{found['type']}", place + errors.pointer(found["loc"]), found["msg"])
            for found in error.errors(include_url=False, include_context=False, include_input=False)
        ]


def _check_identity(draft: _Draft, place: str) -> list[Problem]:
    if draft.type in urns.PEOPLE_TYPES or (draft.type in _PEOPLE and draft.urn is None):
        detail = "Users, groups, roles and policies are made at /users/, /groups/, /roles/ and /policies/."
        return [Problem("type.people", f"{place}/type", detail)]
    if draft.urn is not None:
        found = urns.problem(draft.urn, f"{place}/urn", (draft.type,)) or _check_name(draft, place)
        return [] if found is None else [found]
    if draft.type not in DATAZONE_TYPES and draft.object_id is None:
        return [Problem("entity.missing", f"{place}/urn", "An entity of this type is named by a URN or an object id.")]
    found = urns.problem(f"urn:li:{draft.type}:{draft.object_id or '0' * 24}", f"{place}/type")
    return [] if found is None else [found]


def _check_name(draft: _Draft, place: str) -> Problem | None:
    """Spell a CDAP entity without a version (rules/cdap.md CD-20); a kind of CDAP's own has no other names."""
    name = cdap_entity_ids.read(draft.urn or "")
    if name is not None:
        draft.urn = name.urn
    elif draft.type in cdap_entity_ids.OWN_KINDS:
        return Problem("entity.not_cdap", f"{place}/urn", f"This names no {draft.type}; see what it lies in.")
    return None


def _named(drafts: Sequence[_Draft], *, by: Actor) -> tuple[list[str], list[str]]:
    """Return the URN of each draft: the one given, that of the known object with its id, or one made of its id.

    An object that the caller may not view is as good as unknown. Also returned is what is wrong with ids that others
    have, in sentences that name no such object.
    """
    wanted = [draft.object_id for draft in drafts if draft.object_id is not None]
    rows = Entity.objects.filter(object_id__among=wanted).order_by().values_list("type", "object_id", "urn")
    known = {(type_, object_id): urn for type_, object_id, urn in rows}
    hidden = view_permissions.hidden(urns=set(known.values()), by=by)
    named: list[str] = []
    taken: list[str] = []
    for draft in drafts:
        if draft.object_id is None and draft.urn is None:
            draft.object_id = secrets.token_hex(12)
        holder = known.get((draft.type, draft.object_id)) if draft.object_id is not None else None
        seen = None if holder in hidden else holder
        urn = draft.urn or seen or urns.make(draft.type, str(draft.object_id))
        if holder not in (None, urn):
            whose = "taken" if seen is None else f"that of {holder}"
            taken.append(f"The object id {draft.object_id} is {whose}.")
        elif draft.object_id is not None:
            known[draft.type, draft.object_id] = urn
        named.append(urn)
    return named, taken


def _check_ids(drafts: Sequence[_Draft], named: Sequence[str], taken: Sequence[str]) -> None:
    """Raise Conflict for the id of another object, and for an id that is to change: policies name objects by it."""
    if taken:
        raise Conflict(taken[0])
    rows = Entity.objects.filter(urn__among=named, object_id__isnull=False).order_by()
    kept = dict(rows.values_list("urn", "object_id"))
    for urn, draft in zip(named, drafts, strict=True):
        if draft.object_id is not None and kept.setdefault(urn, draft.object_id) != draft.object_id:
            raise Conflict(f"{urn} already has the object id {kept[urn]}.")


def _check_projects(drafts: Sequence[_Draft]) -> None:
    problems: list[Problem] = []
    wanted = [draft.project for draft in drafts if draft.project is not None]
    known = set(_projects(wanted))
    for index, draft in enumerate(drafts):
        if draft.project is not None and draft.project not in known:
            problems.append(Problem(_UNKNOWN, f"/{index}/project", _NO_PROJECT))
        if draft.type == "project" and draft.object_id is not None:
            known.add(draft.object_id)
    if problems:
        raise Invalid(problems)


def _domains_of_products(drafts: Sequence[_Draft], named: Sequence[str], *, by: Actor) -> dict[str, tuple[str, ...]]:
    """Return the domains that each new data product is put into, by the place of the list.

    One that the caller may not view is as good as new.

    Raises Invalid for one that is put into none: who manages the domain decides about its products (source 000).
    """
    products = [index for index, draft in enumerate(drafts) if draft.type == "dataProduct"]
    stored = Entity.objects.filter(urn__among=[named[index] for index in products]).order_by()
    known = set(stored.values_list("urn", flat=True)) if products else set()
    known -= view_permissions.hidden(urns=known, by=by)
    found: dict[str, tuple[str, ...]] = {}
    problems: list[Problem] = []
    for index in products:
        if named[index] in known:
            continue
        place = f"/{index}/aspects/domains"
        document = drafts[index].aspects.get("domains")
        if document is None:
            problems.append(Problem("product.domain", place, "A data product is made in a domain: name it here."))
        elif not register.check("domains", document):
            urn = urns.parse(named[index])
            facts = projection.facts("domains", _text(document), urn).facets
            found[place] = tuple(facet.value for facet in facts)
    if problems:
        raise Invalid(problems)
    return found


def _check_domains(domains: Mapping[str, Collection[str]]) -> None:
    wanted = {urn for some in domains.values() for urn in some}
    rows = Entity.objects.filter(urn__among=list(wanted)).order_by()
    unknown = wanted - set(rows.values_list("urn", flat=True)) if wanted else set()
    problems = [
        Problem(_UNKNOWN, place, f"There is no domain {urn}.")
        for place, some in domains.items()
        for urn in some
        if urn in unknown
    ]
    if problems:
        raise Invalid(problems)


def _projects(wanted: list[str]) -> list[str]:
    rows = Entity.objects.filter(type="project", object_id__among=wanted).order_by()
    return [object_id for object_id in rows.values_list("object_id", flat=True) if object_id is not None]


def _ids(change: _Change) -> Ids:
    object_id = change.object_id if isinstance(change, _Draft) else None
    return Ids(object_id, change.project, has_project="project" in change.model_fields_set)


def _proposals(urn: str, change: _Change, place: str) -> list[Proposal]:
    found = [
        Proposal(urn, name, _text(document), place=place, document_place=place + errors.pointer(["aspects", name]))
        for name, document in change.aspects.items()
    ]
    if change.name is not None:
        document = _text({"name": change.name})
        found.append(Proposal(urn, REGISTRATION, document, place=place, document_place=place))
    return found


def _text(document: Mapping[str, Any]) -> str:
    """Return a document as text; what UTF-8 cannot carry stays escaped, for the check of proposals to name."""
    text = json.dumps(document, ensure_ascii=False)
    return text if is_storable(text) else json.dumps(document)
