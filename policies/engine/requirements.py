"""Requirements of operations: privileges on an entity and on its relatives.

A requirement is a disjunction of conjunctions of needs. Quantifiers are false over nothing: "any of its domains" and
"each of its subjects" do not hold if there are none (source 000, derived authorization rules).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache

#: The relative that every family has. Families may name more; the caller supplies the resources of each.
SELF = "self"


class Quantifier(StrEnum):
    """The number of relatives on which a need must hold: at least one, or all (and at least one)."""

    ANY = "any"
    EACH = "each"


@dataclass(frozen=True, slots=True)
class Need:
    """One of these privileges, on one relative (or on any, or each, of several)."""

    privileges: tuple[str, ...]
    relative: str = SELF
    quantifier: Quantifier = Quantifier.ANY


@dataclass(frozen=True, slots=True)
class Requirement:
    """Any of several lists of needs; all needs of that list must hold. No list, or an empty list, is a refusal.

    Derived: `privileges` are all privileges of the needs, `relatives` those whose facts must be loaded,
    `other_relatives` these without the entity itself, `sole_privilege` the privilege of a requirement that is one
    privilege on the entity itself, as most are.
    """

    any_of: tuple[tuple[Need, ...], ...]
    privileges: frozenset[str] = field(init=False, compare=False, repr=False)
    relatives: frozenset[str] = field(init=False, compare=False, repr=False)
    other_relatives: frozenset[str] = field(init=False, compare=False, repr=False)
    sole_privilege: str | None = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Derive the fields `privileges`, `relatives`, `other_relatives` and `sole_privilege`."""
        needs = self.needs
        object.__setattr__(self, "privileges", frozenset(privilege for need in needs for privilege in need.privileges))
        object.__setattr__(self, "relatives", frozenset(need.relative for need in needs))
        object.__setattr__(self, "other_relatives", self.relatives - {SELF})
        is_sole = len(needs) == len(self.any_of) == 1 and needs[0].relative == SELF and len(needs[0].privileges) == 1
        object.__setattr__(self, "sole_privilege", needs[0].privileges[0] if is_sole else None)

    @property
    def needs(self) -> tuple[Need, ...]:
        """Every need of every alternative."""
        return tuple(need for alternative in self.any_of for need in alternative)


@lru_cache(maxsize=1024)
def privilege_requirement(privilege: str) -> Requirement:
    """Return the requirement of a single privilege on the entity itself."""
    return Requirement(((Need((privilege,)),),))


def any_of_requirement(lists: Iterable[Iterable[str]]) -> Requirement:
    """Return the requirement of api.md's `any_of`: a list of lists of privileges on the entity itself."""
    return _build_any_of(tuple(tuple(privileges) for privileges in lists))


@lru_cache(maxsize=1024)
def _build_any_of(lists: tuple[tuple[str, ...], ...]) -> Requirement:
    return Requirement(tuple(tuple(Need((privilege,)) for privilege in privileges) for privileges in lists))
