"""Registry of the families of access rules, which translate documents and operations into the model of the engine.

Other code looks up the family of a policy here and uses the functions that every family has. CDAP has operations and
privileges but no documents, so it is not among the families of policies.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, Protocol

from policies.engine.errors import Problem, UnknownFamily
from policies.engine.families import cdap, datahub, datahub_fields, datazone, datazone_resource_patterns, vocabulary
from policies.engine.model import Statement, StatementOrigin
from policies.engine.requirements import Requirement


class DocumentParser(Protocol):
    """Check a document; return it as it is to be stored, or raise InvalidPolicy with every problem.

    With `keeps_unknown` a family whose documents also arrive from other products' programs keeps unknown fields, and
    makes the document inactive.
    """

    def __call__(
        self, document: Any, *, custom: Collection[str] = (), keeps_unknown: bool = False
    ) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class PolicyFamily:
    """The functions that every family supplies.

    `column_values` returns the columns of lists that follow from a document; `as_active` the same document as if it
    were active. `unknown_fields` returns the fields of a stored document that keep it inactive. `required_urns` returns
    the URNs, as (pointer, URN), that must exist when a document is stored, and `document_terms` the privileges and
    resources as a document spells them. `unversioned_types` returns the entity types whose questions are always about
    the main branch.
    """

    name: str
    label: str
    parse: DocumentParser
    column_values: Callable[[Mapping[str, Any]], dict[str, Any]]
    as_active: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    compile: Callable[[Mapping[str, Any], StatementOrigin], tuple[Statement, ...]]
    implicit_policies: Callable[[], tuple[tuple[str, tuple[Statement, ...]], ...]]
    load_operations: Callable[[], Mapping[str, Requirement]]
    load_vocabulary: Callable[[], vocabulary.Vocabulary]
    required_urns: Callable[[Any], tuple[tuple[str, str], ...]]
    document_terms: Callable[[Mapping[str, Any]], tuple[frozenset[str], frozenset[str]]]
    unknown_fields: Callable[[Mapping[str, Any]], tuple[Problem, ...]]
    unversioned_types: Callable[[], frozenset[str]] = frozenset


FAMILIES: Mapping[str, PolicyFamily] = MappingProxyType(
    {
        datahub.NAME: PolicyFamily(
            name=datahub.NAME,
            label="DataHub",
            parse=datahub.parse,
            column_values=datahub.column_values,
            as_active=datahub.as_active,
            compile=datahub.compile,
            implicit_policies=datahub.implicit_policies,
            load_operations=datahub.load_operations,
            load_vocabulary=vocabulary.load_datahub,
            required_urns=datahub.required_urns,
            document_terms=datahub.document_terms,
            unknown_fields=datahub_fields.list_unknown_fields,
        ),
        datazone.NAME: PolicyFamily(
            name=datazone.NAME,
            label="Datazone",
            parse=datazone.parse,
            column_values=datazone.column_values,
            as_active=datazone.as_active,
            compile=datazone.compile,
            implicit_policies=datazone.implicit_policies,
            load_operations=datazone.load_operations,
            load_vocabulary=datazone_resource_patterns.load_actions_vocabulary,
            required_urns=datazone.required_urns,
            document_terms=datazone.document_terms,
            unknown_fields=datazone.unknown_fields,
            unversioned_types=datazone_resource_patterns.unversioned_types,
        ),
    }
)


def get(name: str) -> PolicyFamily:
    """Return the family of this name; raises UnknownFamily."""
    try:
        return FAMILIES[name]
    except KeyError:
        raise UnknownFamily(name) from None


def get_requirement(operation: str, relatives: Collection[str] = ()) -> Requirement:
    """Return the requirement of an operation for a question with these relatives; raises UnknownOperation."""
    for family in FAMILIES.values():
        requirement = family.load_operations().get(operation)
        if requirement is not None:
            return requirement
    return cdap.get_requirement(operation, relatives)


def implicit_policies() -> Iterable[tuple[str, tuple[Statement, ...]]]:
    """Yield the policies that every snapshot contains without being stored, as (policy URN, statements)."""
    yield from (pair for family in FAMILIES.values() for pair in family.implicit_policies())
    yield from cdap.implicit_policies()


@cache
def load_vocabularies() -> Mapping[str, vocabulary.Vocabulary]:
    """Return the vocabulary of every family by its name, including CDAP, whose privileges are granted."""
    vocabulary_by_family = {name: family.load_vocabulary() for name, family in FAMILIES.items()}
    return MappingProxyType({**vocabulary_by_family, cdap.NAME: cdap.load_vocabulary()})


def widen(privileges: Iterable[str]) -> frozenset[str]:
    """Return these privileges and everything that they imply in their families."""
    names = frozenset(privileges)
    return names.union(*(family_vocabulary.widen(names) for family_vocabulary in load_vocabularies().values()))


@cache
def platform_privileges() -> frozenset[str]:
    """Return the names of the privileges of every family that are held on the platform and not on entities."""
    return frozenset(
        info.name for vocabulary in load_vocabularies().values() for info in vocabulary.platform_privileges()
    )


def display_privilege(name: str) -> str:
    """Return the display name of a privilege of any family, or its own name if no family has it."""
    infos = (family_vocabulary.get(name) for family_vocabulary in load_vocabularies().values())
    return next((info.display for info in infos if info is not None), name)


@cache
def unversioned_types() -> frozenset[str]:
    """Return the entity types whose questions are always about the main branch."""
    return frozenset[str]().union(*(family.unversioned_types() for family in FAMILIES.values()))


def is_granted(privileges: Iterable[str]) -> bool:
    """Whether grants can give one of these privileges; otherwise grants need not be loaded."""
    return cdap.is_granted(privileges)


def admin_privilege() -> str:
    """Return the privilege whose holder grants and revokes privileges on an entity (rules/cdap.md CD-18)."""
    return cdap.ADMIN


def grant_origin() -> StatementOrigin:
    """Return the origin that stands for the policy in reasons about grants; no policy with this URN is stored."""
    return StatementOrigin(cdap.GRANTS_POLICY_URN, "Grant")


def sort_privileges(privileges: Iterable[str]) -> tuple[str, ...]:
    """Return granted privileges in display order, each once."""
    return cdap.expand(privileges)
