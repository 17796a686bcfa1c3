"""Requirements for creating, editing and deleting an entity of the catalog, from the table of effects of privileges.

EDIT_ENTITY suffices for every edit, the privileges of users, groups and policies for their entities; the table
(`engine/tables/datahub_effects.toml`) has what else opens a type, a document or a part of one.
"""

from collections.abc import Iterable

from catalog import urns
from catalog.access import aspect_documents
from catalog.urns import Urn
from policies.engine.families import datahub
from policies.engine.families.privilege_effects import ABOUT, DATASET, EDIT_ENTITY, WHOLE, load_effects
from policies.engine.requirements import Need, Requirement
from policies.pdp.access_requests import AccessRequest, ResourceRef

#: Types of `policies` -> their privilege group. Roles need the privileges of the policies that name them.
_PRIVILEGE_GROUPS = {"corpuser": "user", "corpGroup": "group", "dataHubRole": "policy", "dataHubPolicy": "policy"}

_EDIT_ALTERNATIVES = ((Need((EDIT_ENTITY,)),),)


def build_edit_requirement(urn: Urn, aspect: str, part: str | None = WHOLE) -> Requirement:
    """Return the requirement for changing a part of a document of an existing entity; None: for changing nothing."""
    effects = load_effects()
    needs = (*effects.list_edit_needs(urn.type, aspect, part), *effects.list_managers(urn.type, aspect))
    return add_alternatives(_privilege_group(urn, "update"), (*_EDIT_ALTERNATIVES, *_to_alternatives(needs)))


def build_tag_requirement(urn: Urn, aspect: str, part: str) -> Requirement:
    """Return the requirement for changing the tags in a document, which constraints on tags may narrow (a.5)."""
    needs = load_effects().list_edit_needs(urn.type, aspect, part)
    return Requirement((*_EDIT_ALTERNATIVES, *_to_alternatives(needs)))


def build_create_requirement(urn: Urn, aspects: Iterable[str] = ()) -> Requirement:
    """Return the requirement for creating an entity; the editors of a dataset may create its columns.

    A column is there with its dataset, and is stored with the first of these documents.
    """
    effects = load_effects()
    needs = list(effects.list_creators(urn.type))
    if urns.field_dataset_urns(urn.text):
        needs += [
            need
            for aspect in aspects
            for need in effects.list_edit_needs(urn.type, aspect, WHOLE)
            if need.relative == DATASET
        ]
    return add_alternatives(_privilege_group(urn, "create"), _to_alternatives(needs))


def build_delete_requirement(urn: Urn) -> Requirement:
    """Return the requirement for deleting an entity."""
    needs = load_effects().list_deleters(urn.type)
    return add_alternatives(_privilege_group(urn, "delete"), _to_alternatives(needs))


def add_alternatives(requirement: Requirement, added_needs: tuple[tuple[Need, ...], ...]) -> Requirement:
    """Return the requirement with more alternatives, each once."""
    return Requirement(tuple(dict.fromkeys((*requirement.any_of, *added_needs))))


def build_request(requirement: Requirement, urn: Urn, *, subject_urns: tuple[str, ...] = ()) -> AccessRequest:
    """Return the request of a requirement about an entity, with the assets that it is about."""
    relatives = {ABOUT: subject_urns} if ABOUT in requirement.other_relatives else {}
    return AccessRequest(requirement, ResourceRef(urn.text, urn.type), relatives=relatives)


def load_subjects(urn: Urn) -> tuple[str, ...]:
    """Return the URNs of the assets that a stored entity is about; no query for a type that is about none."""
    subject = load_effects().subjects.get(urn.type)
    if subject is None:
        return ()
    stored_aspect = aspect_documents.load_aspect(urn=urn.text, name=subject[0])
    return () if stored_aspect is None else load_effects().read_subjects(urn.type, stored_aspect.value)


def _privilege_group(urn: Urn, verb: str) -> Requirement:
    return datahub.load_operation_groups()[f"{_PRIVILEGE_GROUPS.get(urn.type, 'entity')}.{verb}"]


def _to_alternatives(needs: Iterable[Need]) -> tuple[tuple[Need, ...], ...]:
    return tuple((need,) for need in needs)
