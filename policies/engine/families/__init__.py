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
from policies.engine.model import Origin, Statement
from policies.engine.requirements import Requirement


class Parse(Protocol):
    """Check a document; return it as it is to be stored, or raise InvalidPolicy with every problem.

    With `keeps_unknown` a family whose documents arrive from programs of other makers keeps fields it does not know,
    and puts the document out of force.
    """

    def __call__(
        self, document: Any, *, custom: Collection[str] = (), keeps_unknown: bool = False
    ) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Family:
    """What every family supplies.

    `columns` are the facts that lists show and that follow from a document; `activated` is the same document as if it
    were in force. `unknown` names the fields of a stored document that keep it out of force. `bound` are the URNs, with
    their pointers, that must exist when a document is stored, and `mentioned` the privileges and resources as a
    document spells them. `unversioned` are the types of entities that questions are about on their main branch only.
    """

    name: str
    label: str
    parse: Parse
    columns: Callable[[Mapping[str, Any]], dict[str, Any]]
    activated: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    compile: Callable[[Mapping[str, Any], Origin], tuple[Statement, ...]]
    implicit: Callable[[], tuple[tuple[str, tuple[Statement, ...]], ...]]
    operations: Callable[[], Mapping[str, Requirement]]
    vocabulary: Callable[[], vocabulary.Vocabulary]
    bound: Callable[[Any], tuple[tuple[str, str], ...]]
    mentioned: Callable[[Mapping[str, Any]], tuple[frozenset[str], frozenset[str]]]
    unknown: Callable[[Mapping[str, Any]], tuple[Problem, ...]]
    unversioned: Callable[[], frozenset[str]] = frozenset


FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        datahub.NAME: Family(
            name=datahub.NAME,
            label="DataHub",
            parse=datahub.parse,
            columns=datahub.columns,
            activated=datahub.activated,
            compile=datahub.compile,
            implicit=datahub.implicit,
            operations=datahub.operations,
            vocabulary=vocabulary.datahub,
            bound=datahub.bound,
            mentioned=datahub.mentioned,
            unknown=datahub_fields.list_unknown,
        ),
        datazone.NAME: Family(
            name=datazone.NAME,
            label="Datazone",
            parse=datazone.parse,
            columns=datazone.columns,
            activated=datazone.activated,
            compile=datazone.compile,
            implicit=datazone.implicit,
            operations=datazone.operations,
            vocabulary=datazone_resource_patterns.actions_vocabulary,
            bound=datazone.bound,
            mentioned=datazone.mentioned,
            unknown=datazone.unknown,
            unversioned=datazone_resource_patterns.unversioned,
        ),
    }
)


def get(name: str) -> Family:
    """Return the family of this name; raises UnknownFamily."""
    try:
        return FAMILIES[name]
    except KeyError:
        raise UnknownFamily(name) from None


def requirement(operation: str, given: Collection[str] = ()) -> Requirement:
    """Return what an operation needs when the question gives these relatives; raises UnknownOperation."""
    for family in FAMILIES.values():
        found = family.operations().get(operation)
        if found is not None:
            return found
    return cdap.requirement(operation, given)


def implicit() -> Iterable[tuple[str, tuple[Statement, ...]]]:
    """Return what holds in every snapshot without being stored."""
    yield from (pair for family in FAMILIES.values() for pair in family.implicit())
    yield from cdap.implicit()


@cache
def vocabularies() -> Mapping[str, vocabulary.Vocabulary]:
    """Return the privileges of every family by its name, those that are granted and not written in policies too."""
    found = {name: family.vocabulary() for name, family in FAMILIES.items()}
    return MappingProxyType({**found, cdap.NAME: cdap.privileges()})


def display_privilege(name: str) -> str:
    """Return the display name of a privilege of any family, and its own name where no family knows it."""
    found = (known.get(name) for known in vocabularies().values())
    return next((info.display for info in found if info is not None), name)


@cache
def unversioned() -> frozenset[str]:
    """Return the types of entities that questions are about on their main branch only."""
    return frozenset[str]().union(*(family.unversioned() for family in FAMILIES.values()))


def is_granted(privileges: Iterable[str]) -> bool:
    """Whether grants have a say about one of these privileges; where they have none they are not looked up."""
    return cdap.is_granted(privileges)


def granting() -> str:
    """Return the privilege whose holder gives and takes privileges on an entity (rules/cdap.md CD-18)."""
    return cdap.ADMIN


def grant_origin() -> Origin:
    """Return what stands for the policy in what is said about grants; no policy of this URN is stored."""
    return Origin(cdap.GRANT, "Grant")


def in_order(privileges: Iterable[str]) -> tuple[str, ...]:
    """Return granted privileges in the order in which they are shown, each once."""
    return cdap.expand(privileges)
