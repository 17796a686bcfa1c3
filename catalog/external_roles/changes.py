"""Changes of who holds an external role (`policies.changes`): edits of the holders that the catalog has."""

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from catalog.entities.annotations import AnnotationEdit, AspectDocument
from catalog.entities.changes import MAX_ATTACHMENTS, FactChange
from catalog.entities.staged_facts import StagedFacts
from catalog.external_roles.services import HOLDER_KEYS, list_holders
from policies.changes.kinds import Change, join_names
from policies.engine.errors import Problem
from policies.errors import Invalid
from policies.http.api import strict_fields
from policies.models.people import GROUP_PREFIX, USER_PREFIX

_ASPECT = "actors"
_PREFIXES = {"users": USER_PREFIX, "groups": GROUP_PREFIX}


class ExternalRoleChangeIn(strict_fields.StrictSerializer):
    """Users and groups who would get or lose an external role."""

    role = strict_fields.StrictUrn(prefixes=("urn:li:role:",))
    actors = strict_fields.StrictUrnList(USER_PREFIX, GROUP_PREFIX, max_length=MAX_ATTACHMENTS)


class ExternalHolderChange(FactChange):
    """A change of the holders of one external role; no privilege of this product rests on it."""

    subject_pointer = "/role"
    shape = ExternalRoleChangeIn
    role: str
    actors: Sequence[str]

    @property
    def subject(self) -> str:
        """The URN of the external role."""
        return self.role

    @abstractmethod
    def change_holders(self, holders: Sequence[str]) -> Collection[str]:
        """Return the holders as they would be."""

    def edit(self, edit: AnnotationEdit, facts: StagedFacts) -> None:  # noqa: ARG002 - whoever is added checks the names
        """Change the lists of users and groups; entries of those who stay keep their other fields."""

        def change(document: AspectDocument, _audit_stamp: AspectDocument) -> None:
            holder_urns = self.change_holders(sorted(list_holders(document)))
            for outer, inner in HOLDER_KEYS:
                entries = {entry[inner]: entry for entry in document.get(outer) or ()}
                urns = [urn for urn in dict.fromkeys([*entries, *self.actors]) if urn in holder_urns]
                if entries or any(urn.startswith(_PREFIXES[outer]) for urn in urns):
                    document[outer] = [
                        entries.get(urn, {inner: urn}) for urn in urns if urn.startswith(_PREFIXES[outer])
                    ]

        edit.write(_ASPECT, change)

    def list_urns(self) -> list[str]:
        """Return the role and its holders."""
        return [self.role, *self.actors]

    def load_holders(self) -> set[str]:
        """Return the users and groups who hold the role now."""
        return list_holders(self.load_document(_ASPECT))


@dataclass(frozen=True, slots=True)
class AssignExternalRole(ExternalHolderChange):
    """Users and groups get an external role."""

    kind: ClassVar[str] = "assign_external_role"
    role: str
    actors: Sequence[str]

    def change_holders(self, holders: Sequence[str]) -> Collection[str]:
        """Return the holders with these."""
        return {*holders, *self.actors}

    def edit(self, edit: AnnotationEdit, facts: StagedFacts) -> None:
        """Add the holders, who have to be known."""
        unknown_urns = facts.find_unknown(self.actors)
        problems = [
            Problem("unknown", f"/actors/{index}", f"There is no user or group {urn!r}.")
            for index, urn in enumerate(self.actors)
            if urn in unknown_urns
        ]
        if problems:
            raise Invalid(problems)
        ExternalHolderChange.edit(self, edit, facts)

    def find_inverse(self) -> Sequence[Change]:
        """Return the removal of those who do not hold the role now."""
        holders = self.load_holders()
        new_urns = [urn for urn in dict.fromkeys(self.actors) if urn not in holders]
        return [UnassignExternalRole(self.role, new_urns)] if new_urns else []

    def describe(self, names: Mapping[str, str]) -> str:
        """Return a sentence with the names of the holders and the role."""
        return f"Give the external role {join_names([self.role], names)} to {join_names(self.actors, names)}."


@dataclass(frozen=True, slots=True)
class UnassignExternalRole(ExternalHolderChange):
    """Users and groups lose an external role."""

    kind: ClassVar[str] = "unassign_external_role"
    role: str
    actors: Sequence[str]

    def change_holders(self, holders: Sequence[str]) -> Collection[str]:
        """Return the holders without these."""
        return set(holders).difference(self.actors)

    def find_inverse(self) -> Sequence[Change]:
        """Return the assignment to those who hold the role now."""
        holders = self.load_holders()
        removed_urns = [urn for urn in dict.fromkeys(self.actors) if urn in holders]
        return [AssignExternalRole(self.role, removed_urns)] if removed_urns else []

    def describe(self, names: Mapping[str, str]) -> str:
        """Return a sentence with the names of the holders and the role."""
        return f"Take the external role {join_names([self.role], names)} from {join_names(self.actors, names)}."


KINDS = (AssignExternalRole, UnassignExternalRole)
