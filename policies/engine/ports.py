"""Ports of the engine, which its host implements: facts about entities, grants, and display names.

A source returns complete facts or raises an error. It never returns an empty set because a lookup failed: NOT_EQUALS
matches an entity without values, so a swallowed failure would grant.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from policies.engine.model import Actor, Coverage, Statement
from policies.engine.postings import Postings
from policies.engine.selectors import Resource, Selector


class LoadedFacts(NamedTuple):
    """Actors by URN; types of the stored entities by URN; resources by URN, of stored and unknown entities."""

    actors: dict[str, Actor]
    types: dict[str, str]
    resources: dict[str, Resource]


class FacetSource(Protocol):
    """Facts about entities, and about the actors who ask for them."""

    def load(self, *, urns: Collection[str], fields: Collection[str]) -> Mapping[str, Resource]:
        """Return a resource for each URN, stored or not, with a set of values for each of the fields.

        Hierarchical fields include all ancestors. `owners` is filled if `fields` contains OWNER. An entity that is not
        stored has its URN, the type its URN names, and empty facets. One query, whatever the number of URNs.
        """

    def load_facts(self, *, actors: Collection[str], urns: Collection[str], fields: Collection[str]) -> LoadedFacts:
        """Return the actors with groups and roles, the types of the stored entities, and the resources of `load`.

        One query for all of it. An unknown user is an actor without groups and roles.
        """

    def load_relatives(
        self, *, urns: Collection[str], names: Collection[str]
    ) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
        """Return the relatives of each URN, as URN -> relative name -> URNs, in a constant number of queries.

        Names: `parent` (the entity that contains it), `domains` (of a data product its associations, or else the older
        list), `subjects` (of a query, a schema field standing for its dataset), `dataset` (the one a schema field
        belongs to), `term_group` and `term_groups` (of a term or term group, the group it is directly in, and all above
        it). A relative that an entity does not have is an empty tuple.
        """

    def load_types(self, *, urns: Collection[str]) -> Mapping[str, str]:
        """Return the types of the stored entities, as URN -> entity type."""

    def find(self, *, objects: Collection[tuple[str, str]]) -> Mapping[tuple[str, str], str]:
        """Return the URNs of the stored entities, as (type, object id) -> URN, in a constant number of queries."""


#: Grants as entity URN -> holder URN (a user, a group or a role) -> statements.
GrantsByEntity = Mapping[str, Mapping[str, tuple[Statement, ...]]]


class GrantSource(Protocol):
    """Grants: statements for one holder on the entities on which it was granted privileges."""

    def load_statements(self, *, holders: Collection[str] | None, urns: Collection[str]) -> GrantsByEntity:
        """Return the grants of these holders (None: of all holders) that reach these entities, stored or not.

        One query, whatever the number of holders and entities. An entity or holder without grants is left out.
        """

    def load_grantors(self, *, urns: Collection[str]) -> Mapping[str, tuple[str, ...]]:
        """Return the actors who can grant privileges on each of these entities, stored or not, as URN -> actor URNs.

        First those who hold the privilege for it there, then those who may do so anywhere, each sorted and once. Nobody
        who is suspended or removed. A constant number of queries.
        """

    def list_sole_administered(self, *, holder: str, limit: int) -> tuple[Sequence[str], bool]:
        """Return the entities on which only this holder may act and grant privileges, sorted.

        Checks at most `limit` of the entities on which the holder itself was granted that privilege; the second value
        says whether these are all of them.
        """


class PostingsSource(Protocol):
    """Entities with their facts, for comparisons that concern many of them."""

    def load_postings(
        self, *, covering: Collection[Selector], fields: Collection[str], limit: int, with_people: bool
    ) -> Postings | None:
        """Return the entities, without removed ones, that one of the selectors covers; None for more than `limit`.

        `with_people` users, groups, roles and policies too, whether or not the catalog describes them. With these
        facets; hierarchies are closed. A constant number of queries.
        """

    def load_sample(self, *, covering: Collection[Selector], fields: Collection[str], limit: int) -> Postings:
        """Return the first of these entities, users, groups, roles and policies, at most `limit`."""


@dataclass(frozen=True, slots=True)
class DirectoryEntry:
    """An entity, person or policy as a picker shows it."""

    urn: str
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class TreeNode(DirectoryEntry):
    """A node of an expandable tree; `is_parent` if it contains something."""

    is_parent: bool


@dataclass(frozen=True, slots=True)
class LeveledNode(DirectoryEntry):
    """A node of a tree with its level: 1 is a root."""

    level: int


@dataclass(frozen=True, slots=True)
class DirectoryPage:
    """One page of a list, and the length of the list, counted up to a limit."""

    rows: Sequence[DirectoryEntry]
    count: int


class Directory(Protocol):
    """Names and search for everything that has a URN outside `policies`, and counts of the entities a policy reaches.

    Each directory is made for a `viewer` (None: the system, which sees everything), and names, lists and counts nothing
    that the viewer may not view.
    """

    def load_names(self, *, urns: Collection[str]) -> Mapping[str, str]:
        """Return the display names, as URN -> name; a URN without a name is left out."""

    def find_hidden_urns(self, *, urns: Collection[str]) -> frozenset[str]:
        """Return the URNs that the viewer may not view, stored or not; a constant number of queries."""

    def search(self, *, text: str, types: Collection[str], limit: int) -> Sequence[DirectoryEntry]:
        """Return entities whose name or URN has words that begin with the words of the text, best first."""

    def list_children(self, *, parent: str, types: Collection[str], limit: int) -> Sequence[TreeNode]:
        """Return the children of these types by name; without a parent, the entities in no stored entity."""

    def sample_covered(self, *, coverage: Coverage, excluded: Coverage | None, limit: int) -> Sequence[DirectoryEntry]:
        """Return the first entities by name that a coverage reaches, without those that `excluded` reaches."""

    def list_covered(
        self,
        *,
        coverage: Coverage,
        viewer: Actor | None,
        text: str,
        types: Collection[str],
        start: int,
        limit: int,
        max_count: int,
    ) -> DirectoryPage:
        """Return the entities that a coverage reaches, people and policies included, from `start` on, and their count.

        Counted up to `max_count`; a count of `max_count` + 1 means more. `text` and `types` filter as in `search`;
        `viewer` (not the directory's own) leaves out entities that this actor may not view, None leaves out nothing.
        """

    def list_deepest_nodes(self, *, type: str, limit: int) -> Sequence[LeveledNode]:
        """Return the nodes of this type on the lowest levels of its tree, lowest first."""
