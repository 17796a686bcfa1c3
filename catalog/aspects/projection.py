"""Projection of an entity: the only function that derives columns and facets from its documents."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from catalog.aspects.base import AspectFacts, FacetValue, property_facets
from catalog.aspects.facet_fields import ID, MAX_NAME_LENGTH, PLATFORM, PROJECT, UNTESTED_FIELDS, WORD
from catalog.aspects.register import OWNED_ASPECTS, PROJECTED_ASPECTS, REGISTRATION
from catalog.urns import Urn
from policies.engine import selectors
from policies.engine.families import cdap, cdap_entity_ids
from policies.models.words import split_words

#: Aspects in order of precedence for the name: registration by our API, then edits by people.
_NAME_PRECEDENCE = (REGISTRATION, "editableDatasetProperties")


@dataclass(frozen=True, slots=True)
class Projection:
    """The derived columns and facets of an entity."""

    name: str
    parent: str | None
    is_removed: bool
    facets: frozenset[FacetValue]


def project(
    *, urn: Urn, documents: Mapping[str, str], object_id: str | None = None, project: str | None = None
) -> Projection:
    """Return the columns and facets derived from an entity's newest documents (aspect name -> text) and its ids.

    Depends on nothing else, nor on the order in which the documents came. Raises pydantic's ValidationError for a
    document of the wrong shape; none is stored.
    """
    facts_of_documents = [
        read_facts(name, documents[name], urn) for name in sorted(documents.keys() & PROJECTED_ASPECTS, key=_rank)
    ]
    name = next((document_facts.name for document_facts in facts_of_documents if document_facts.name), urn.identifier)[
        :MAX_NAME_LENGTH
    ]
    facets = {
        _to_untested_field(facet, urn) for document_facts in facts_of_documents for facet in document_facts.facets
    }
    facets |= _urn_facets(urn)
    facets |= {FacetValue(WORD, word) for word in split_words(name)}
    facets |= {FacetValue(ID, object_id)} if object_id else set()
    facets |= {FacetValue(PROJECT, project)} if project else set()
    cdap_name = cdap_entity_ids.parse(urn.text)
    if cdap_name is not None:
        facets |= {FacetValue(cdap.WITHIN, ancestor) for ancestor in cdap_name.ancestors}
        facets |= {FacetValue(cdap.VERSION_OF, cdap_name.urn)} if cdap_name.urn != urn.text else set()
    parents = [
        cdap_name.parent if cdap_name is not None else None,
        *(document_facts.parent for document_facts in facts_of_documents),
    ]
    return Projection(
        name=name,
        parent=next((parent for parent in parents if parent is not None), None),
        is_removed=any(document_facts.is_removed for document_facts in facts_of_documents),
        facets=frozenset(facets),
    )


def read_facts(name: str, text: str, urn: Urn) -> AspectFacts:
    """Return the facts that one document of an owned aspect gives about the entity."""
    # The parser of the interfaces: both must take the same value of a duplicate key.
    document = json.loads(text)
    document_facts = OWNED_ASPECTS[name].model_validate(document).facts(urn)
    custom_properties = document.get("customProperties")
    return (
        replace(document_facts, facets=(*document_facts.facets, *property_facets(custom_properties)))
        if isinstance(custom_properties, dict) and custom_properties
        else document_facts
    )


def _to_untested_field(facet: FacetValue, urn: Urn) -> FacetValue:
    """Return a facet under a field that no policy tests when the entity has only itself and its ancestors in it (a.4).

    A container's own document names its parent, which is an ancestor.
    """
    if urn.type == "container" or selectors.OWN_FIELDS.get(urn.type) != facet.field:
        return facet
    return facet._replace(field=UNTESTED_FIELDS[facet.field])


def _urn_facets(urn: Urn) -> set[FacetValue]:
    facets = {FacetValue(WORD, word) for word in split_words(urn.identifier)}
    if urn.type in selectors.OWN_FIELDS:
        facets.add(FacetValue(selectors.OWN_FIELDS[urn.type], urn.text))
    if urn.platform is not None:
        facets.add(FacetValue(PLATFORM, urn.platform))
    return facets


def _rank(name: str) -> tuple[int, str]:
    return (_NAME_PRECEDENCE.index(name) if name in _NAME_PRECEDENCE else len(_NAME_PRECEDENCE), name)
