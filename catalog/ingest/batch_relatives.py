"""Relatives of entities as given by a batch itself; they take precedence over stored ones (rules/datahub.md c)."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from catalog.access import entity_lists
from catalog.aspects.facet_fields import SUBJECT
from catalog.aspects.projection import read_facts
from catalog.ingest.validate import ChangeType, ValidatedProposal
from catalog.urns import Urn
from policies.engine import selectors
from policies.engine.families.privilege_effects import load_effects
from policies.pdp.access_requests import ResourceRef

#: Aspects of the glossary that name the term group of an entity, and the key of that group.
GLOSSARY_INFO, PARENT_NODE = frozenset({"glossaryNodeInfo", "glossaryTermInfo"}), "parentNode"

_ASPECTS_BY_FIELD = {selectors.DOMAIN: "domains", selectors.CONTAINER: "container", SUBJECT: "querySubjects"}


class BatchRelatives:
    """The batch's own statements about its entities; they take precedence over stored ones (section c).

    `domains`, `subjects` (of queries), `aspects_by_urn`, and by methods term groups, places and assets.
    """

    def __init__(self, items: Iterable[ValidatedProposal]) -> None:
        self.domains: dict[str, tuple[str, ...]] = {}
        self.subjects: dict[str, tuple[str, ...]] = {}
        self.aspects_by_urn: dict[str, list[str]] = defaultdict(list)
        self._containers: dict[str, tuple[str, ...]] = {}
        self._assets: dict[str, tuple[str, ...]] = {}
        self._group_by_urn: dict[str, str | None] = {}
        subject_aspects = load_effects().subjects
        for item in items:
            self.aspects_by_urn[item.urn.text].append(item.aspect)
            if item.aspect in GLOSSARY_INFO:
                self._group_by_urn[item.urn.text] = (item.parsed_document or {}).get(PARENT_NODE)
            if item.change is ChangeType.DELETE:
                continue
            if item.aspect == "domains":
                self.domains[item.urn.text] = read_values(item, item.proposal.document, selectors.DOMAIN)
            elif item.aspect == "container":
                self._containers[item.urn.text] = read_values(item, item.proposal.document, selectors.CONTAINER)
            elif item.aspect == "querySubjects":
                self.subjects[item.urn.text] = read_values(item, item.proposal.document, SUBJECT)
            elif item.urn.type in subject_aspects and item.aspect == subject_aspects[item.urn.type][0]:
                self._assets[item.urn.text] = load_effects().read_subjects(item.urn.type, item.parsed_document or {})
        self._stored_groups = load_groups_above(
            {group for group in self._group_by_urn.values() if group is not None} - self._group_by_urn.keys()
        )
        self._lineages = _load_lineages({*self.domains.values(), *self._containers.values()})

    def list_assets(self, urn: Urn) -> tuple[str, ...]:
        """Return the assets that the batch says an entity is about."""
        return self._assets.get(urn.text, ())

    def build_new_resource(self, urn: Urn) -> ResourceRef:
        """Return an entity that is not stored, in the domain and the container that the batch gives it.

        Nothing else that the batch says of it counts, and nothing that is not stored: who writes it could say anything.
        """
        return self._build_resource(
            urn,
            {
                selectors.DOMAIN: self._join_lineages(self.domains.get(urn.text, ())),
                selectors.CONTAINER: self._join_lineages(self._containers.get(urn.text, ())),
            },
        )

    def _join_lineages(self, places: Iterable[str]) -> frozenset[str]:
        return frozenset(node for urn in places for node in self._lineages.get(urn, ()))

    def build_resource_in(self, urn: Urn, domain: str) -> ResourceRef:
        """Return a stored entity as if it were in this domain of the batch, stored or not."""
        return self._build_resource(urn, {selectors.DOMAIN: self._lineages.get(domain, frozenset((domain,)))})

    def _build_resource(self, urn: Urn, facts: Mapping[str, frozenset[str]]) -> ResourceRef:
        own_field = selectors.OWN_FIELDS.get(urn.type)
        return ResourceRef(
            urn.text,
            urn.type,
            fact_overrides=tuple(
                (field, values | {urn.text} if field == own_field else values)
                for field, values in facts.items()
                if values
            ),
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


def _load_lineages(places: Iterable[Iterable[str]]) -> Mapping[str, frozenset[str]]:
    """Return place -> itself and its ancestors, for the domains and containers that are stored; two queries."""
    urns = {urn for nodes in places for urn in nodes}
    if not urns:
        return {}
    ancestors = entity_lists.load_ancestors(nodes=urns)
    stored_urns = entity_lists.list_stored_urns(urns=urns)
    return {urn: frozenset((urn, *ancestors.get(urn, ()))) for urn in stored_urns}


def read_values(item: ValidatedProposal, text: str | None, field: str) -> tuple[str, ...]:
    """Return the values of a facet (DOMAIN, CONTAINER, or the subjects of a query) in the text of a document."""
    if text is None:
        return ()
    aspect = _ASPECTS_BY_FIELD[field]
    return tuple(facet.value for facet in read_facts(aspect, text, item.urn).facets if facet.field == field)
