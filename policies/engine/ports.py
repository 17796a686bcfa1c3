"""What the engine's hosts must supply: facts about entities, grants, and names for people to read.

A source promises complete facts or an error. It never answers an empty set because a lookup failed: NOT_EQUALS matches
an entity without values, so a swallowed failure would grant.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from policies.engine.model import Actor, Coverage, Statement
from policies.engine.selectors import Resource


class FacetSource(Protocol):
    """Facts about entities."""

    def load(self, *, urns: Collection[str], fields: Collection[str]) -> Mapping[str, Resource]:
        """Return a resource for each URN, known or not, with a value set for each of the fields.

        Hierarchical fields come closed over their ancestors. `owners` is filled when `fields` holds OWNER. An entity
        that is not known has its URN, the type its URN names, and empty facets. One query whatever the number of URNs.
        """

    def load_relatives(
        self, *, urns: Collection[str], names: Collection[str]
    ) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
        """Return, for each URN, the URNs of each of the named relatives, in a number of queries that does not grow.

        Names: `parent` (the entity it lies in), `domains` (of a data product its associations, or else the older list),
        `subjects` (of a query, a schema field standing for its dataset), `dataset` (the one a schema field belongs to),
        `term_group` and `term_groups` (of a term or term group, the group it is directly in, and all above it).
        A relative that an entity does not have is an empty tuple.
        """

    def load_types(self, *, urns: Collection[str]) -> Mapping[str, str]:
        """Return URN → entity type of those that are stored."""

    def find(self, *, objects: Collection[tuple[str, str]]) -> Mapping[tuple[str, str], str]:
        """Return (type, object id) → URN of those that are stored, in a number of queries that does not grow."""


#: Grants by the entity they reach and by who holds them: a user, a group or a role.
GrantsByEntity = Mapping[str, Mapping[str, tuple[Statement, ...]]]


class GrantSource(Protocol):
    """Grants: statements for one holder on the entities it was granted privileges on."""

    def load_statements(self, *, holders: Collection[str] | None, urns: Collection[str]) -> GrantsByEntity:
        """Return the grants of these holders (None: of everybody) that reach these entities, stored or not.

        One query whatever the number of holders and entities. An entity or holder without grants is left out.
        """

    def load_grantors(self, *, urns: Collection[str]) -> Mapping[str, tuple[str, ...]]:
        """Return who could give privileges on each of these entities, stored or not: first those who hold the privilege
        to do so there, then those who may do so anywhere, each in order and once. Nobody who is suspended or removed.

        A number of queries that does not grow.
        """

    def list_sole_administered(self, *, holder: str, limit: int) -> Sequence[str]:
        """Return the entities on which nobody but this holder may act and give privileges, in order.

        Looks at a limit of those that the holder was itself given the privilege to do so on.
        """


@dataclass(frozen=True, slots=True)
class DirectoryEntry:
    """An entity, person or policy as a picker shows it."""

    urn: str
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class TreeNode(DirectoryEntry):
    """A node of a tree that people open: whether something lies in it."""

    is_parent: bool


@dataclass(frozen=True, slots=True)
class LeveledNode(DirectoryEntry):
    """A node of a tree, and on which level it lies: 1 is a root."""

    level: int


@dataclass(frozen=True, slots=True)
class DirectoryPage:
    """A part of a list, and how long the list is, counted up to a limit."""

    rows: Sequence[DirectoryEntry]
    count: int


class Directory(Protocol):
    """Names and search over everything that has a URN outside `policies`, and how much of it a policy reaches.

    It is made for whoever reads it, `viewer` (None: the system, which sees everything), and names, lists and counts
    nothing that they may not view.
    """

    def load_names(self, *, urns: Collection[str]) -> Mapping[str, str]:
        """Return the display names of those that have one; a URN without a name is left out."""

    def find_hidden_urns(self, *, urns: Collection[str]) -> frozenset[str]:
        """Return those that the viewer may not view, stored or not; a number of queries that does not grow."""

    def search(self, *, text: str, types: Collection[str], limit: int) -> Sequence[DirectoryEntry]:
        """Return entities whose name or URN has words beginning with the words of the text, best first."""

    def list_children(self, *, parent: str, types: Collection[str], limit: int) -> Sequence[TreeNode]:
        """Return what of these types lies directly in the parent, by name; without one what lies in nothing stored."""

    def count_covered(self, *, coverage: Coverage, limit: int) -> int:
        """Return how many entities that are not removed a coverage reaches, counting no further than the limit."""

    def sample_covered(self, *, coverage: Coverage, excluded: Coverage | None, limit: int) -> Sequence[DirectoryEntry]:
        """Return the first few that a coverage reaches, by name, leaving out what another one reaches."""

    def list_covered_owners(self, *, coverage: Coverage, types: Collection[str] | None, limit: int) -> frozenset[str]:
        """Return who owns something that a coverage reaches, as one of these types (None: any), up to a limit.

        These are people, whom nobody hides: what they own counts whether or not the viewer may view it.
        """

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
        """Return what a coverage reaches, people and policies too, from the start on, and how long the list is.

        It is counted up to `max_count`, one more standing for all numbers above. `text` and `types` narrow it as a
        search does; `viewer` (not the directory's own) leaves out what this actor may not view, None leaves out
        nothing.
        """

    def list_deepest_nodes(self, *, type: str, limit: int) -> Sequence[LeveledNode]:
        """Return the nodes of this type on the lowest levels of its tree, lowest first."""
