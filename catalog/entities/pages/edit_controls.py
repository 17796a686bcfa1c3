"""What may be edited on an entity's page, and who may: asked for the whole page at once."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from django.conf import settings
from django.urls import reverse

from catalog import urns
from catalog.access import disclosure
from catalog.access.entity_context import Subject
from catalog.aspects.register import BEARERS
from catalog.entities.annotations import DESCRIPTIONS
from catalog.ingest import required_privileges
from policies.errors import Forbidden
from policies.pdp import authorizer

_ASSETS = frozenset(
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
_GLOSSARY = frozenset({"glossaryNode", "glossaryTerm"})


@dataclass(frozen=True, slots=True)
class Control:
    """One thing that can be edited: its title, the aspect that keeps it, and the types of entities that have it.

    `aspect` is empty where it depends on the type.
    """

    title: str
    aspect: str
    types: Collection[str]

    def aspect_of(self, type_: str) -> str:
        """Return the aspect that keeps it for a type."""
        return self.aspect or DESCRIPTIONS[type_][0]


CONTROLS: Mapping[str, Control] = {
    "description": Control("Description", "", DESCRIPTIONS.keys()),
    "owners": Control("Owners", "ownership", _ASSETS | _GLOSSARY | {"domain", "tag"}),
    "tags": Control("Tags", "globalTags", _ASSETS),
    "terms": Control("Glossary terms", "glossaryTerms", _ASSETS),
    "domains": Control("Domains", "domains", _ASSETS | {"glossaryTerm"}),
    "links": Control("Links", "institutionalMemory", _ASSETS | _GLOSSARY | {"domain"}),
    "deprecation": Control("Deprecation", "deprecation", _ASSETS | {"glossaryTerm"}),
    "access": Control("External roles", "access", BEARERS["access"]),
}


def offered(subject: Subject) -> dict[str, str]:
    """Return the address of each edit that the reader may make on the entity."""
    possible = list(_possible(subject.entity.type))
    urn = urns.parse(subject.entity.urn)
    asks = [(subject.by, required_privileges.editing(urn, CONTROLS[what].aspect_of(urn.type))) for what in possible]
    decisions = authorizer.answer_many(asks=asks) if asks else []
    return {
        what: reverse("catalog-edit", args=[what, urn.text])
        for what, decision in zip(possible, decisions, strict=True)
        if decision.is_allowed
    }


def is_possible(what: str, type_: str) -> bool:
    """Whether entities of this type have such a thing to edit."""
    return what in _possible(type_)


def find_refusal(subject: Subject, what: str) -> Forbidden | None:
    """Return the refusal of an edit, naming what the reader lacks; None when they may."""
    urn = urns.parse(subject.entity.urn)
    return disclosure.find_refusal(
        by=subject.by, asks=[required_privileges.editing(urn, CONTROLS[what].aspect_of(urn.type))]
    )


def _possible(type_: str) -> Iterable[str]:
    for what, control in CONTROLS.items():
        if type_ in control.types and (what != "access" or settings.SHOW_ACCESS_MANAGEMENT):
            yield what
