"""The families of access rules: each translates its documents and operations into the nouns of the engine.

Nobody outside this room asks which family a policy is of; they look it up here and use what every family has. CDAP has
operations and privileges but no documents, so it is not among those that policies can be of.
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

    With `keeps_unknown` a family whose documents arrive from programs of other makers keeps fields it does not know,
    and puts the document out of force.
    """

    def __call__(
        self, document: Any, *, custom: Collection[str] = (), keeps_unknown: bool = False
    ) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class PolicyFamily:
    """What every family supplies.

    `column_values` are the facts that lists show and that follow from a document; `as_active` is the same document as
    if it were in force. `unknown_fields` names the fields of a stored document that keep it out of force.
    `required_urns` are the URNs, with their pointers, that must exist when a document is stored, and `document_terms`
    the privileges and resources as a document spells them. `unversioned_types` are the types of entities that questions
    are about on their main branch only.
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
    """Return what an operation needs when the question gives these relatives; raises UnknownOperation."""
    for family in FAMILIES.values():
        requirement = family.load_operations().get(operation)
        if requirement is not None:
            return requirement
    return cdap.get_requirement(operation, relatives)


def implicit_policies() -> Iterable[tuple[str, tuple[Statement, ...]]]:
    """Return what holds in every snapshot without being stored."""
    yield from (pair for family in FAMILIES.values() for pair in family.implicit_policies())
    yield from cdap.implicit_policies()


@cache
def load_vocabularies() -> Mapping[str, vocabulary.Vocabulary]:
    """Return the privileges of every family by its name, those that are granted and not written in policies too."""
    vocabulary_by_family = {name: family.load_vocabulary() for name, family in FAMILIES.items()}
    return MappingProxyType({**vocabulary_by_family, cdap.NAME: cdap.load_vocabulary()})


def display_privilege(name: str) -> str:
    """Return the display name of a privilege of any family, and its own name where no family knows it."""
    infos = (family_vocabulary.get(name) for family_vocabulary in load_vocabularies().values())
    return next((info.display for info in infos if info is not None), name)


@cache
def unversioned_types() -> frozenset[str]:
    """Return the types of entities that questions are about on their main branch only."""
    return frozenset[str]().union(*(family.unversioned_types() for family in FAMILIES.values()))


def is_granted(privileges: Iterable[str]) -> bool:
    """Whether grants have a say about one of these privileges; where they have none they are not looked up."""
    return cdap.is_granted(privileges)


def admin_privilege() -> str:
    """Return the privilege whose holder gives and takes privileges on an entity (rules/cdap.md CD-18)."""
    return cdap.ADMIN


def grant_origin() -> StatementOrigin:
    """Return what stands for the policy in what is said about grants; no policy of this URN is stored."""
    return StatementOrigin(cdap.GRANTS_POLICY_URN, "Grant")


def sort_privileges(privileges: Iterable[str]) -> tuple[str, ...]:
    """Return granted privileges in the order in which they are shown, each once."""
    return cdap.expand(privileges)
