"""Changes of what entities carry (`policies.changes`): owners, domains, tags, terms and parents.

A change is one edit of a document, which its write stores and its preview stages; so both are checked alike.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from catalog import urns
from catalog.access import aspect_documents
from catalog.entities import annotations, moves
from catalog.entities.annotations import AnnotationEdit, OwnerPair
from catalog.entities.staged_facts import StagedFacts
from policies.changes.kinds import Change, ShapeField, join_names
from policies.changes.worlds import StagedWorld
from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.errors import Invalid
from policies.http.api import strict_fields
from policies.models import Gate, open_write
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.pdp import authorizer

#: Most owners, tags or terms in one change.
MAX_ATTACHMENTS = 100


class OwnerIn(strict_fields.StrictSerializer):
    """One owner, with an ownership type or without.

    To remove one without a type removes every entry of it; with a type that is null, the entry without a type alone.
    """

    owner = strict_fields.StrictUrn(prefixes=(USER_PREFIX, GROUP_PREFIX))
    type = strict_fields.StrictUrn(required=False, allow_null=True, prefixes=("urn:li:ownershipType:",))


class OwnerChangeIn(strict_fields.StrictSerializer):
    """Owners that an entity would get or lose."""

    entity = strict_fields.StrictUrn()
    owners = strict_fields.StrictList(child=OwnerIn(), max_length=MAX_ATTACHMENTS)


class DomainChangeIn(strict_fields.StrictSerializer):
    """The only domain that an entity would get; null takes it out of all."""

    entity = strict_fields.StrictUrn()
    domain = strict_fields.StrictUrn(allow_null=True, prefixes=("urn:li:domain:",))


class TagChangeIn(strict_fields.StrictSerializer):
    """Tags that an entity would get or lose."""

    entity = strict_fields.StrictUrn()
    tags = strict_fields.StrictUrnList("urn:li:tag:", max_length=MAX_ATTACHMENTS)


class TermChangeIn(strict_fields.StrictSerializer):
    """Glossary terms that an entity would get or lose."""

    entity = strict_fields.StrictUrn()
    terms = strict_fields.StrictUrnList("urn:li:glossaryTerm:", max_length=MAX_ATTACHMENTS)


class MoveIn(strict_fields.StrictSerializer):
    """The parent that a domain, term, term group or container would get; null moves it to the top."""

    entity = strict_fields.StrictUrn()

    def get_fields(self) -> dict[str, Any]:
        """Return the fields; `parent` is an attribute of every serializer, so it is no attribute of the class."""
        return {**super().get_fields(), "parent": strict_fields.StrictUrn(allow_null=True)}


class FactChange(Change):
    """A change of a document of one entity."""

    gate = Gate.CATALOG
    subject_pointer = "/entity"
    shape: ClassVar[type[strict_fields.StrictSerializer]]
    entity: str

    @classmethod
    def build_shape(cls, **kwargs: Any) -> ShapeField:
        """Return the field of an entity and of what it gets or loses."""
        return cls.shape(**kwargs)

    @property
    def subject(self) -> str:
        """The URN of the entity."""
        return self.entity

    @abstractmethod
    def edit(self, edit: AnnotationEdit, facts: StagedFacts) -> None:
        """Change the document by an edit, which writes or stages it; `facts` are those that changes before it leave.

        Raises NotFound for an unknown entity, Forbidden, and Invalid with places in the value of this change.
        """

    def stage(self, world: StagedWorld) -> None:
        """Stage the document as the edit leaves it."""
        facts = world.join_facts(StagedFacts)
        self.edit(facts.open_edit(self.subject), facts)

    def apply(self, *, by: Actor, channel: str, reason: str = "") -> None:  # noqa: ARG002 - documents keep no reason
        """Write the document as the edit leaves it."""
        with open_write(Gate.CATALOG):
            self.edit(AnnotationEdit([self.subject], by, channel), StagedFacts(by))

    def load_document(self, aspect: str) -> Mapping[str, Any]:
        """Return the stored document of an aspect of what this changes; empty if there is none."""
        stored_aspect = aspect_documents.load_aspect(urn=self.subject, name=aspect)
        return {} if stored_aspect is None else stored_aspect.value


class OwnerChange(FactChange):
    """A change of owners: pairs of a URN and that of an ownership type ('' for none, None for whatever type)."""

    shape = OwnerChangeIn
    owners: Sequence[tuple[str, str | None]]

    @classmethod
    def read(cls, value: Any) -> Self:
        """Return the change that a validated value states."""
        owners = tuple(
            (entry["owner"], (entry["type"] or "") if "type" in entry else None) for entry in value["owners"]
        )
        build: Callable[..., Self] = cls
        return build(value["entity"], owners)

    def to_json(self) -> Any:
        """Return the value in JSON."""
        owners = [
            {"owner": owner, **({} if type_ is None else {"type": type_ or None})} for owner, type_ in self.owners
        ]
        return {"entity": self.entity, "owners": owners}

    def list_urns(self) -> list[str]:
        """Return the entity and the owners."""
        return [self.entity, *(owner for owner, _ in self.owners)]

    def load_owners(self) -> list[OwnerPair]:
        """Return the owners that are stored."""
        return [annotations.parse_owner(entry) for entry in self.load_document("ownership").get("owners") or ()]

    def join_owners(self, names: Mapping[str, str]) -> str:
        """Return the names of the owners."""
        return join_names([owner for owner, _ in self.owners], names)


@dataclass(frozen=True, slots=True)
class AddOwners(OwnerChange):
    """An entity gets owners."""

    kind: ClassVar[str] = "add_owners"
    entity: str
    owners: Sequence[tuple[str, str | None]]

    def edit(self, edit: AnnotationEdit, facts: StagedFacts) -> None:
        """Add the owners, who have to be known, and so have their types."""
        named_urns = [(f"/owners/{index}/owner", owner) for index, (owner, _) in enumerate(self.owners)]
        named_urns += [(f"/owners/{index}/type", type_) for index, (_, type_) in enumerate(self.owners) if type_]
        _require_known(named_urns, facts)
        annotations.edit_owners(edit, add=[(owner, type_ or "") for owner, type_ in self.owners])

    def find_inverse(self) -> Sequence[Change]:
        """Return the removal of those who are not owners of their type now."""
        stored_owners = self.load_owners()
        pairs = dict.fromkeys((owner, type_ or "") for owner, type_ in self.owners)
        new_owners = tuple(pair for pair in pairs if pair not in stored_owners)
        return [RemoveOwners(self.entity, new_owners)] if new_owners else []

    def describe(self, names: Mapping[str, str]) -> str:
        """Return a sentence with the names of the owners and the entity."""
        return f"Make {self.join_owners(names)} owner of {join_names([self.entity], names)}."


@dataclass(frozen=True, slots=True)
class RemoveOwners(OwnerChange):
    """An entity loses owners of a type, and those named without one whatever their types."""

    kind: ClassVar[str] = "remove_owners"
    entity: str
    owners: Sequence[tuple[str, str | None]]

    def edit(self, edit: AnnotationEdit, facts: StagedFacts) -> None:  # noqa: ARG002 - who is removed may be unknown
        """Remove the owners."""
        annotations.edit_owners(edit, remove=[(owner, type_) for owner, type_ in self.owners if type_ is not None])
        annotations.remove_owners(edit, [owner for owner, type_ in self.owners if type_ is None])

    def find_inverse(self) -> Sequence[Change] | None:
        """Return those of the owners whom the entity has now; None if one of them is gone."""
        removed_owners = tuple(
            (owner, type_)
            for owner, type_ in self.load_owners()
            if (owner, type_) in self.owners or (owner, None) in self.owners
        )
        if not _are_known([urn for pair in removed_owners for urn in pair if urn]):
            return None
        return [AddOwners(self.entity, removed_owners)] if removed_owners else []

    def describe(self, names: Mapping[str, str]) -> str:
        """Return a sentence with the names of the owners and the entity."""
        return f"Remove {self.join_owners(names)} from the owners of {join_names([self.entity], names)}."


@dataclass(frozen=True, slots=True)
class SetDomain(FactChange):
    """An entity gets its only domain; None takes it out of all."""

    kind: ClassVar[str] = "set_domain"
    shape: ClassVar[type[strict_fields.StrictSerializer]] = DomainChangeIn
    entity: str
    domain: str | None

    def edit(self, edit: AnnotationEdit, facts: StagedFacts) -> None:
        """Set the domain, which has to be known."""
        if self.domain is not None:
            _require_known([("/domain", self.domain)], facts)
        annotations.set_domain(edit, self.domain)

    def find_inverse(self) -> Sequence[Change] | None:
        """Return the domain that the entity has now; None if it has several, or one that is gone."""
        domains = annotations.list_urns("domains", self.load_document("domains"))
        if len(domains) > 1 or not _are_known(domains):
            return None
        domain = domains[0] if domains else None
        return [] if domain == self.domain else [SetDomain(self.entity, domain)]

    def list_urns(self) -> list[str]:
        """Return the entity and the domain."""
        return [self.entity, *([] if self.domain is None else [self.domain])]

    def describe(self, names: Mapping[str, str]) -> str:
        """Return a sentence with the names of the entity and the domain."""
        if self.domain is None:
            return f"Take {join_names([self.entity], names)} out of its domain."
        return f"Put {join_names([self.entity], names)} into the domain {join_names([self.domain], names)}."


class ListChange(FactChange):
    """A change of a list of URNs that an entity carries: its tags, or its terms."""

    #: The aspect, the type of the URNs, and the field of the list in JSON.
    aspect: ClassVar[str]
    entity_type: ClassVar[str]
    field: ClassVar[str]
    is_addition: ClassVar[bool]
    opposite: "ClassVar[type[ListChange]]"

    @property
    def named_urns(self) -> Sequence[str]:
        """The URNs that the entity gets or loses."""
        named_urns: Sequence[str] = getattr(self, self.field)
        return named_urns

    def edit(self, edit: AnnotationEdit, facts: StagedFacts) -> None:  # noqa: ARG002 - a tag may be named before it is
        """Add or remove the URNs."""
        if self.is_addition:
            _check_types(self.named_urns, self.entity_type, f"/{self.field}")
            annotations.edit_urns(edit, self.aspect, add=self.named_urns)
        else:
            annotations.edit_urns(edit, self.aspect, remove=self.named_urns)

    def find_inverse(self) -> Sequence[Change]:
        """Return the opposite for those URNs for which this changes something."""
        stored_urns = annotations.list_urns(self.aspect, self.load_document(self.aspect))
        changed_urns = [urn for urn in dict.fromkeys(self.named_urns) if (urn in stored_urns) is not self.is_addition]
        return [self.opposite.read({"entity": self.entity, self.field: changed_urns})] if changed_urns else []

    def list_urns(self) -> list[str]:
        """Return the entity and the URNs."""
        return [self.entity, *self.named_urns]

    def describe(self, names: Mapping[str, str]) -> str:
        """Return a sentence with the names of the URNs and the entity."""
        verb, preposition = ("Add", "to") if self.is_addition else ("Remove", "from")
        noun = self.field.removesuffix("s") if len(self.named_urns) == 1 else self.field
        entries = join_names(self.named_urns, names)
        return f"{verb} the {noun} {entries} {preposition} {join_names([self.entity], names)}."


class TagChange(ListChange):
    """A change of tags."""

    aspect, entity_type, field, shape = "globalTags", "tag", "tags", TagChangeIn


class TermChange(ListChange):
    """A change of glossary terms."""

    aspect, entity_type, field, shape = "glossaryTerms", "glossaryTerm", "terms", TermChangeIn


@dataclass(frozen=True, slots=True)
class AddTags(TagChange):
    """An entity gets tags."""

    kind: ClassVar[str] = "add_tags"
    is_addition: ClassVar[bool] = True
    entity: str
    tags: Sequence[str]


@dataclass(frozen=True, slots=True)
class RemoveTags(TagChange):
    """An entity loses tags."""

    kind: ClassVar[str] = "remove_tags"
    is_addition: ClassVar[bool] = False
    entity: str
    tags: Sequence[str]


@dataclass(frozen=True, slots=True)
class AddTerms(TermChange):
    """An entity gets glossary terms."""

    kind: ClassVar[str] = "add_terms"
    is_addition: ClassVar[bool] = True
    entity: str
    terms: Sequence[str]


@dataclass(frozen=True, slots=True)
class RemoveTerms(TermChange):
    """An entity loses glossary terms."""

    kind: ClassVar[str] = "remove_terms"
    is_addition: ClassVar[bool] = False
    entity: str
    terms: Sequence[str]


AddTags.opposite, RemoveTags.opposite = RemoveTags, AddTags
AddTerms.opposite, RemoveTerms.opposite = RemoveTerms, AddTerms


@dataclass(frozen=True, slots=True)
class Move(FactChange):
    """A domain, term, term group or container gets another parent; None moves it to the top."""

    kind: ClassVar[str] = "move"
    shape: ClassVar[type[strict_fields.StrictSerializer]] = MoveIn
    entity: str
    parent: str | None

    def edit(self, edit: AnnotationEdit, facts: StagedFacts) -> None:
        """Set the parent, which has to be known and not to lie below the entity."""
        problem = urns.find_problem(self.entity, "/entity", tuple(moves.PARENT_FIELDS))
        if problem is not None:
            raise Invalid([problem])
        moves.set_parent(edit, self.parent, pointer="/parent", parents=facts.parents)
        facts.parents[self.entity] = self.parent

    def find_inverse(self) -> Sequence[Change] | None:
        """Return the move to the parent that the entity has now; None if that is gone."""
        field = moves.PARENT_FIELDS.get(urns.entity_type(self.entity))
        parent = None if field is None else self.load_document(field.aspect).get(field.key)
        if parent is not None and not _are_known([parent]):
            return None
        return [] if parent == self.parent else [Move(self.entity, parent)]

    def list_urns(self) -> list[str]:
        """Return the entity and its parent."""
        return [self.entity, *([] if self.parent is None else [self.parent])]

    def describe(self, names: Mapping[str, str]) -> str:
        """Return a sentence with the names of the entity and its parent."""
        target = "to the top" if self.parent is None else f"into {join_names([self.parent], names)}"
        return f"Move {join_names([self.entity], names)} {target}."


#: Types of what a change names, by the last step of its place.
_TYPES_BY_POINTER = {"owner": ("corpuser", "corpGroup"), "type": ("ownershipType",), "domain": ("domain",)}


def _require_known(urns_by_pointer: Sequence[tuple[str, str]], facts: StagedFacts) -> None:
    problems = [
        problem
        for pointer, urn in urns_by_pointer
        if (problem := urns.find_problem(urn, pointer, _TYPES_BY_POINTER[pointer.rpartition("/")[2]])) is not None
    ]
    unknown_urns = facts.find_unknown([urn for _, urn in urns_by_pointer])
    problems += [
        Problem("unknown", pointer, f"There is no {urns.entity_type(urn)} {urn}.")
        for pointer, urn in urns_by_pointer
        if urn in unknown_urns and pointer not in {problem.pointer for problem in problems}
    ]
    if problems:
        raise Invalid(problems)


def _are_known(named_urns: Sequence[str]) -> bool:
    """Whether none of these is gone."""
    return not StagedFacts(authorizer.SYSTEM).find_unknown(named_urns)


def _check_types(named_urns: Sequence[str], type_: str, pointer: str) -> None:
    problems = [urns.find_problem(urn, f"{pointer}/{index}", (type_,)) for index, urn in enumerate(named_urns)]
    if any(problems):
        raise Invalid([problem for problem in problems if problem is not None])


KINDS = (AddOwners, RemoveOwners, SetDomain, AddTags, RemoveTags, AddTerms, RemoveTerms, Move)
