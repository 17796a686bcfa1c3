"""Documents as changes would leave them: checked and authorized like one write of them all, and never stored."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from django.utils import timezone

from catalog.access import aspect_documents
from catalog.aspects.base import FacetValue
from catalog.aspects.register import PROJECTED_ASPECTS
from catalog.ingest import apply, required_privileges, validate
from catalog.ingest.apply import Proposal
from catalog.ingest.hidden_references import detach_deleted
from catalog.ingest.write_set import DocumentKey, WriteSet, project_entity
from catalog.models import NODE_TYPES, Aspect, Entity, Facet
from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.errors import Invalid

if TYPE_CHECKING:
    from catalog.ingest.validate import ValidatedProposal


class StagedEntity(NamedTuple):
    """An entity before and after the changes: its facets, and its parent if it is a node of a hierarchy."""

    type: str
    old_facets: frozenset[FacetValue]
    new_facets: frozenset[FacetValue]
    old_parent: str | None
    new_parent: str | None

    @property
    def is_moved(self) -> bool:
        """Whether it is a node that gets another parent."""
        return self.type in NODE_TYPES and self.old_parent != self.new_parent


class StagedDocuments:
    """The documents that changes would write, by URN and aspect; None for those that would be deleted."""

    def __init__(self, by: Actor) -> None:
        self._by = by
        self._texts: dict[DocumentKey, str | None] = {}
        self._proposals: dict[DocumentKey, Proposal] = {}
        #: Entities that are stored, and that the author may view.
        self.edited_urns: set[str] = set()

    def load_texts(self, keys: Collection[DocumentKey]) -> dict[DocumentKey, str]:
        """Return (URN, aspect name) -> text of each document that would exist."""
        other_keys = keys - self._texts.keys()
        texts = dict(aspect_documents.load_texts(keys=other_keys)) if other_keys else {}
        staged_texts = ((key, self._texts[key]) for key in keys & self._texts.keys())
        return texts | {key: text for key, text in staged_texts if text is not None}

    def stage(self, proposals: Sequence[Proposal]) -> None:
        """Take whole documents, or deletions of them, over those that were staged before; `check` judges the last."""
        for proposal in proposals:
            key = (proposal.urn, proposal.aspect)
            self._proposals[key], self._texts[key] = proposal, proposal.document

    def check(self) -> dict[str, list[Problem]]:
        """Validate and authorize the staged documents as one write; return what is wrong with them, by entity.

        Raises Forbidden, naming all that is missing.
        """
        problems_by_urn: dict[str, list[Problem]] = defaultdict(list)
        items: list[ValidatedProposal] = []
        for proposal in self._proposals.values():
            try:
                items += validate.check([proposal])
            except Invalid as error:
                problems_by_urn[proposal.urn] += error.problems
        if items:
            write_set = WriteSet(
                entity_urns={item.urn.text for item in items},
                aspects={item.aspect for item in items} | required_privileges.COMPARED_ASPECTS,
                by=self._by.urn,
                channel="preview",
                now=timezone.now(),
            )
            refusal = apply.find_change_refusal(items, write_set, {}, by=self._by)
            if refusal is not None:
                raise refusal
        return problems_by_urn

    def project(self) -> dict[str, StagedEntity]:
        """Return the stored entities whose documents would change, by URN; four queries."""
        urns = list({urn for urn, _ in self._texts})
        texts = self._load_projected_texts(urns)
        facets_by_urn: dict[str, set[FacetValue]] = defaultdict(set)
        rows = Facet.objects.filter(entity__urn__among=urns).order_by()
        for urn, *facet in rows.values_list("entity__urn", "field", "value", "type"):
            facets_by_urn[urn].add(FacetValue(*facet))
        entities = list(Entity.objects.filter(urn__among=urns).order_by())
        old_parents = {entity.urn: entity.parent for entity in entities}
        new_facets = detach_deleted(
            {entity.urn: project_entity(entity, texts[entity.urn]) for entity in entities}, stored_facets=facets_by_urn
        )
        return {
            entity.urn: StagedEntity(
                entity.type,
                frozenset(facets_by_urn[entity.urn]),
                new_facets[entity.urn],
                old_parents[entity.urn],
                entity.parent,
            )
            for entity in entities
        }

    def _load_projected_texts(self, urns: Collection[str]) -> Mapping[str, dict[str, str]]:
        """Return the documents that facets come from, as URN -> aspect name -> text, as they would be."""
        rows = Aspect.objects.filter(entity__urn__among=urns, name__among=list(PROJECTED_ASPECTS), version=0).order_by()
        texts: dict[str, dict[str, str]] = defaultdict(dict)
        for urn, name, text in rows.values_list("entity__urn", "name", "document"):
            texts[urn][name] = text
        for (urn, name), staged_text in self._texts.items():
            texts[urn].pop(name, None)
            if staged_text is not None and name in PROJECTED_ASPECTS:
                texts[urn][name] = staged_text
        return texts
