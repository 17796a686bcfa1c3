"""Relatives of entities as given by a batch itself; they take precedence over stored ones (rules/datahub.md c)."""

from collections.abc import Collection, Iterable, Mapping

from catalog.access import entity_lists
from catalog.aspects.facet_fields import SUBJECT
from catalog.aspects.projection import read_facts
from catalog.ingest.validate import ChangeType, ValidatedProposal
from policies.engine import selectors

#: Aspects of the glossary that name the term group of an entity, and the key of that group.
GLOSSARY_INFO, PARENT_NODE = frozenset({"glossaryNodeInfo", "glossaryTermInfo"}), "parentNode"


class BatchRelatives:
    """Domains, subjects and term groups given by the same batch; they take precedence over stored ones (section c)."""

    def __init__(self, items: Iterable[ValidatedProposal]) -> None:
        self.domains: dict[str, tuple[str, ...]] = {}
        self.subjects: dict[str, tuple[str, ...]] = {}
        self._group_by_urn: dict[str, str | None] = {}
        for item in items:
            if item.aspect in GLOSSARY_INFO:
                self._group_by_urn[item.urn.text] = (item.parsed_document or {}).get(PARENT_NODE)
            if item.change is ChangeType.DELETE:
                continue
            if item.aspect == "domains":
                self.domains[item.urn.text] = read_values(item, item.proposal.document, selectors.DOMAIN)
            if item.aspect == "querySubjects":
                self.subjects[item.urn.text] = read_values(item, item.proposal.document, SUBJECT)
        self._stored_groups = load_groups_above(
            {group for group in self._group_by_urn.values() if group is not None} - self._group_by_urn.keys()
        )

    def term_group(self, urn: str) -> str | None:
        """Return the term group that the batch gives an entity, None when it gives none."""
        return self._group_by_urn.get(urn)

    def term_group_chain(self, group: str | None) -> tuple[str, ...]:
        """Return a term group and its ancestors, as they will be after the batch."""
        chain: dict[str, None] = {}
        while group is not None and group not in chain:
            chain[group] = None
            if group not in self._group_by_urn:
                chain |= dict.fromkeys(self._stored_groups.get(group, ()))
                break
            group = self._group_by_urn[group]
        return tuple(chain)


def load_groups_above(groups: Collection[str]) -> Mapping[str, tuple[str, ...]]:
    """Return term group -> its stored ancestors, for the groups that have any; one query."""
    return entity_lists.load_ancestors(nodes=groups) if groups else {}


def read_values(item: ValidatedProposal, text: str | None, field: str) -> tuple[str, ...]:
    """Return the values of a facet (DOMAIN, or the subjects of a query) in the text of a document."""
    if text is None:
        return ()
    aspect = "domains" if field == selectors.DOMAIN else "querySubjects"
    return tuple(facet.value for facet in read_facts(aspect, text, item.urn).facets if facet.field == field)
