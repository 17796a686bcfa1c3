"""Editable parts of an entity's page, and the permission to edit them, decided for the whole page at once."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from django.conf import settings
from django.urls import reverse

from catalog import urns
from catalog.access import disclosure
from catalog.access.entity_context import EntityContext
from catalog.aspects.register import ENTITY_TYPES_BY_ASPECT
from catalog.entities.annotations import DESCRIPTIONS
from catalog.ingest import required_privileges
from policies.errors import Forbidden
from policies.pdp import authorizer
from policies.pdp.access_requests import AccessRequest

_ASSET_TYPES = frozenset(
    {
        "chart",
        "container",
        "dashboard",
        "dataFlow",
        "dataJob",
        "dataProduct",
        "dataset",
        "mlFeature",
        "mlFeatureTable",
        "mlModel",
        "mlModelGroup",
        "mlPrimaryKey",
        "notebook",
    }
)
_GLOSSARY_TYPES = frozenset({"glossaryNode", "glossaryTerm"})


@dataclass(frozen=True, slots=True)
class EditControl:
    """An editable part: its title, the aspect that stores it, and the types of entities that have it.

    `aspect` is empty when it depends on the type.
    """

    title: str
    aspect: str
    types: Collection[str]

    def resolve_aspect(self, type_: str) -> str:
        """Return the aspect that stores it for a type."""
        return self.aspect or DESCRIPTIONS[type_][0]

    def build_request(self, urn: urns.Urn) -> AccessRequest:
        """Return the request for editing it on an entity."""
        aspect, part = (self.aspect, "") if self.aspect else DESCRIPTIONS[urn.type]
        return required_privileges.build_edit_request(urn, aspect, part)


CONTROLS: Mapping[str, EditControl] = {
    "description": EditControl("Description", "", DESCRIPTIONS.keys()),
    "owners": EditControl("Owners", "ownership", _ASSET_TYPES | _GLOSSARY_TYPES | {"domain", "tag"}),
    "tags": EditControl("Tags", "globalTags", _ASSET_TYPES),
    "terms": EditControl("Glossary terms", "glossaryTerms", _ASSET_TYPES),
    "domains": EditControl("Domains", "domains", _ASSET_TYPES | {"glossaryTerm"}),
    "links": EditControl("Links", "institutionalMemory", _ASSET_TYPES | _GLOSSARY_TYPES | {"domain"}),
    "deprecation": EditControl("Deprecation", "deprecation", _ASSET_TYPES | {"glossaryTerm"}),
    "access": EditControl("External roles", "access", ENTITY_TYPES_BY_ASPECT["access"]),
}


def list_edit_urls(entity_context: EntityContext) -> dict[str, str]:
    """Return key -> URL of each edit that the viewer may make on the entity."""
    keys = list(_list_possible(entity_context.entity.type))
    urn = urns.parse(entity_context.entity.urn)
    access_requests = [(entity_context.by, CONTROLS[key].build_request(urn)) for key in keys]
    decisions = authorizer.answer_many(requests=access_requests) if access_requests else []
    return {
        key: reverse("catalog-edit", args=[key, urn.text])
        for key, decision in zip(keys, decisions, strict=True)
        if decision.is_allowed
    }


def is_possible(key: str, type_: str) -> bool:
    """Whether entities of this type have this editable part."""
    return key in _list_possible(type_)


def find_refusal(entity_context: EntityContext, key: str) -> Forbidden | None:
    """Return the refusal of an edit with the missing privileges; None when it is allowed."""
    urn = urns.parse(entity_context.entity.urn)
    return disclosure.find_refusal(
        by=entity_context.by,
        requests=[CONTROLS[key].build_request(urn)],
    )


def _list_possible(type_: str) -> Iterable[str]:
    for key, control in CONTROLS.items():
        if type_ in control.types and (key != "access" or settings.SHOW_ACCESS_MANAGEMENT):
            yield key
