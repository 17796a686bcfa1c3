"""Removal of references to what was deleted from documents: the port `References` of the policies."""

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from catalog.access.view_permissions import remove_urns, walk_texts
from catalog.aspects.register import PROJECTED_ASPECTS
from catalog.ingest import deletes, hidden_references
from catalog.models import Aspect
from policies.engine.model import Actor
from policies.models import Gate, open_write

#: Entities whose documents one write changes, so that other writers wait for a moment only.
_CHUNK_SIZE = 200


class DocumentReferences:
    """`policies.pdp.ports.References` over the documents of the catalog."""

    def detach(self, *, urns: Collection[str]) -> None:
        """Take the references to these URNs out of the facts about entities; the documents stay as they are."""
        hidden_references.detach_references(urns)

    def find_named(self, *, urns: Collection[str]) -> frozenset[str]:
        """Return those of these URNs that a document still refers to; one query."""
        return hidden_references.find_referred(urns)

    def remove(self, *, urns: Collection[str], by: Actor, channel: str) -> Mapping[str, int]:
        """Remove the references to these URNs, in writes of some entities each; return URN -> changed documents."""
        counts: Counter[str] = Counter()
        removed_urns = frozenset(urns)
        last_pk = 0
        while True:
            # Behind the gate, so that nothing read here changes before it is written.
            with open_write(Gate.CATALOG):
                rows = hidden_references.list_references(urns).filter(entity__gt=last_pk)
                entity_pks = list(rows.order_by("entity").values_list("entity", flat=True).distinct()[:_CHUNK_SIZE])
                if not entity_pks:
                    return counts
                last_pk = entity_pks[-1]
                documents: dict[tuple[str, str], Any] = {}
                for key, document in _load_documents(entity_pks):
                    named_urns = removed_urns.intersection(walk_texts(document))
                    if named_urns:
                        documents[key] = _remove_names(document, named_urns)
                        counts.update(named_urns)
                deletes.rewrite(documents, by=by.urn, channel=channel)


def _load_documents(entity_pks: list[int]) -> Iterator[tuple[tuple[str, str], Any]]:
    rows = Aspect.objects.filter(entity_id__among=entity_pks, name__among=sorted(PROJECTED_ASPECTS), version=0)
    for urn, name, text in rows.order_by("entity__urn", "name").values_list("entity__urn", "name", "document"):
        yield (urn, name), json.loads(text)


def _remove_names(document: Any, urns: Collection[str]) -> Any:
    """Return a document without these URNs; an owner whose ownership type is among them stays one without a type."""
    owner_types = frozenset(urn for urn in urns if urn.startswith("urn:li:ownershipType:"))
    owners = document.get("owners") if isinstance(document, Mapping) else None
    if owner_types and isinstance(owners, list):
        document = {
            **document,
            "owners": [
                {key: value for key, value in entry.items() if not (key == "typeUrn" and value in owner_types)}
                for entry in owners
            ],
        }
    return remove_urns(document, urns)
