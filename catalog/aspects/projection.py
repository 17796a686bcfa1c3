"""The one function that knows what follows from the documents about an entity."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from catalog.aspects.base import (
    BESIDE,
    ID,
    NAME_LENGTH,
    PLATFORM,
    PROJECT,
    VERSION_OF,
    WITHIN,
    WORD,
    FacetValue,
    Facts,
    described,
)
from catalog.aspects.register import OWNED, PROJECTING, REGISTRATION
from catalog.urns import Urn
from policies.engine import selectors
from policies.engine.families import cdap_entity_ids
from policies.models.words import words

#: Aspects whose name wins over that of the others: what was said here, then what people edited.
_NAMES_FIRST = (REGISTRATION, "editableDatasetProperties")


@dataclass(frozen=True, slots=True)
class Projection:
    """What follows for an entity: its columns and its facets."""

    name: str
    parent: str | None
    is_removed: bool
    facets: frozenset[FacetValue]


def project(
    *, urn: Urn, documents: Mapping[str, str], object_id: str | None = None, project: str | None = None
) -> Projection:
    """Return what follows from an entity's newest documents (aspect name → text) and its ids.

    Depends on nothing else and not on the order in which the documents came. Raises pydantic's ValidationError for a
    document that does not have its shape: none is stored.
    """
    said = [facts(name, documents[name], urn) for name in sorted(documents.keys() & PROJECTING, key=_rank)]
    name = next((one.name for one in said if one.name), urn.identifier)[:NAME_LENGTH]
    found = {_untested(facet, urn) for one in said for facet in one.facets}
    found |= _of_urn(urn)
    found |= {FacetValue(WORD, word) for word in words(name)}
    found |= {FacetValue(ID, object_id)} if object_id else set()
    found |= {FacetValue(PROJECT, project)} if project else set()
    cdap = cdap_entity_ids.read(urn.text)
    if cdap is not None:
        found |= {FacetValue(WITHIN, above) for above in cdap.above}
        found |= {FacetValue(VERSION_OF, cdap.urn)} if cdap.urn != urn.text else set()
    parents = [cdap.parent if cdap is not None else None, *(one.parent for one in said)]
    return Projection(
        name=name,
        parent=next((parent for parent in parents if parent is not None), None),
        is_removed=any(one.is_removed for one in said),
        facets=frozenset(found),
    )


def facts(name: str, text: str, urn: Urn) -> Facts:
    """Return what one document of an aspect we own says about the entity."""
    # Read by the parser that the door used: of a key that comes twice both must take the same one.
    document = json.loads(text)
    found = OWNED[name].model_validate(document).facts(urn)
    custom = document.get("customProperties")
    return replace(found, facets=(*found.facets, *described(custom))) if isinstance(custom, dict) and custom else found


def _untested(facet: FacetValue, urn: Urn) -> FacetValue:
    """Return a facet under a field that no policy tests where the entity has only itself and its ancestors (a.4).

    A container's own document names its parent, which is an ancestor.
    """
    if urn.type == "container" or selectors.OWN_FIELDS.get(urn.type) != facet.field:
        return facet
    return facet._replace(field=BESIDE[facet.field])


def _of_urn(urn: Urn) -> set[FacetValue]:
    found = {FacetValue(WORD, word) for word in words(urn.identifier)}
    if urn.type in selectors.OWN_FIELDS:
        found.add(FacetValue(selectors.OWN_FIELDS[urn.type], urn.text))
    if urn.platform is not None:
        found.add(FacetValue(PLATFORM, urn.platform))
    return found


def _rank(name: str) -> tuple[int, str]:
    return (_NAMES_FIRST.index(name) if name in _NAMES_FIRST else len(_NAMES_FIRST), name)
