"""A question about a CDAP operation, checked: what it needs, on which entities, and what a create would make.

Who asks and who applies read questions here, so that both judge the same thing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from policies.engine.errors import InvalidQuestion, Problem
from policies.engine.families import cdap, cdap_entity_ids
from policies.engine.families.cdap_entity_ids import APPLICATION, INSTANCE, NAMESPACE, PROGRAM, CdapName
from policies.engine.requirements import Requirement

#: Where the parts of a question stand in what was sent.
PLACES = {"entity": "/entity", "parent": "/parent", "artifact": "/related/artifact", "programs": "/related/programs"}


@dataclass(frozen=True, slots=True)
class Said:
    """The parts of a question as they were sent. `kind` is said where the entity has no name yet."""

    operation: str
    entity: str | None = None
    kind: str = ""
    parent: str | None = None
    artifact: str | None = None
    programs: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Read:
    """A question that can be asked.

    `entity` is what is operated on, None for a place (`place`, the instance unless told) and for something that has no
    name yet. `made` are the URNs that a create makes, the entity first.
    """

    operation: cdap.Operation
    entity: CdapName | None
    place: CdapName | None
    requirement: Requirement
    relatives: Mapping[str, tuple[str, ...]]
    made: tuple[str, ...]

    def resultant(self, principal: str) -> tuple[cdap.Resultant, ...]:
        """Return the grants that a create gives to who does it (CD-15, CD-16)."""
        return tuple(cdap.Resultant(principal, urn) for urn in self.made)


def read(said: Said, places: Mapping[str, str] = PLACES) -> Read:
    """Check a question and return what it asks.

    Raises UnknownOperation, and InvalidQuestion with every problem at its place.
    """
    operation = cdap.operation(said.operation)
    reader = _Reader(operation, said, {**PLACES, **places})
    entity, place = reader.entity()
    parent = reader.parent(entity)
    reader.related(entity)
    if reader.problems:
        raise InvalidQuestion(reader.problems)
    given = {cdap.ARTIFACT} if said.artifact is not None else set()
    makes = operation.applied is cdap.Applied.CREATE and entity is not None
    return Read(
        operation=operation,
        entity=entity,
        place=place,
        requirement=cdap.requirement(said.operation, given, is_of_place=place is not None),
        relatives=_relatives(parent, said.artifact),
        made=(entity.urn, *dict.fromkeys(said.programs)) if makes and entity is not None else (),
    )


class _Reader:
    """Collects the problems of one question."""

    def __init__(self, operation: cdap.Operation, said: Said, places: Mapping[str, str]) -> None:
        self.problems: list[Problem] = []
        self._operation = operation
        self._said = said
        self._places = places

    def entity(self) -> tuple[CdapName | None, CdapName | None]:
        """Return the entity and the place of the question, at most one of them."""
        said, operation = self._said, self._operation
        if said.entity is None:
            if operation.is_about_many:
                return None, cdap_entity_ids.read(cdap_entity_ids.INSTANCE_URN)
            is_unnamed = operation.applied is cdap.Applied.CREATE and said.kind
            if not is_unnamed:
                self._note("required", "entity", "Name the entity that is operated on.")
            elif said.kind != operation.kind:
                self._mismatch(f"{operation.name} is not about a {said.kind}.")
            return None, None
        name = cdap_entity_ids.read(said.entity)
        if name is None:
            self._note("entity.not_cdap", "entity", f"{said.entity} names no CDAP entity.")
            return None, None
        if operation.is_about_many and name.kind in _places_of(operation.kind):
            return None, name
        if name.kind != operation.kind:
            self._mismatch(f"{name.urn} is a {name.kind}; {operation.name} is not about one.")
        return name, None

    def parent(self, entity: CdapName | None) -> CdapName | None:
        """Return what the entity lies in; what the question says of it must be what the name says (CD-1)."""
        said, kind = self._said, self._operation.kind
        known = cdap_entity_ids.read(cdap_entity_ids.INSTANCE_URN) if kind == NAMESPACE else None
        known = cdap_entity_ids.read(entity.parent) if entity is not None and entity.parent else known
        if said.parent is None:
            if known is None and said.entity is None and not self._operation.is_about_many and not self.problems:
                self._note("required", "parent", "Say in which entity it is to be created.")
            return known
        found = cdap_entity_ids.read(said.parent)
        wanted = {NAMESPACE: INSTANCE, PROGRAM: APPLICATION}.get(kind, NAMESPACE)
        if found is None or (found != known if known is not None else found.kind != wanted):
            detail = (
                f"It is contained in {known.urn}."
                if known is not None
                else f"A {kind} is contained in a CDAP {wanted}."
            )
            self._note("parent.mismatch", "parent", detail)
        return found

    def related(self, entity: CdapName | None) -> None:
        """Check the artifact and the programs of a deployment."""
        said, operation = self._said, self._operation
        if said.artifact is not None:
            artifact = cdap_entity_ids.read(said.artifact)
            if cdap.ARTIFACT not in operation.optional:
                self._note("related.unused", "artifact", f"{operation.name} looks at no artifact.")
            elif artifact is None or artifact.kind != "artifact":
                self._note("type.mismatch", "artifact", f"{said.artifact} is no artifact.")
        if said.programs and not (operation.kind == APPLICATION and operation.applied is cdap.Applied.CREATE):
            self._note("related.unused", "programs", f"{operation.name} makes no programs.")
            return
        for index, urn in enumerate(said.programs):
            program = cdap_entity_ids.read(urn)
            if program is None or program.kind != PROGRAM or entity is None or program.parent != entity.urn:
                where = entity.urn if entity is not None else "the application"
                problem = Problem(
                    "type.mismatch", f"{self._places['programs']}/{index}", f"{urn} is no program of {where}."
                )
                self.problems.append(problem)

    def _mismatch(self, detail: str) -> None:
        self._note("type.mismatch", "entity", detail)

    def _note(self, code: str, part: str, detail: str) -> None:
        self.problems.append(Problem(code, self._places[part], detail))


def _places_of(kind: str) -> tuple[str, ...]:
    """Return the kinds of entity whose content can be listed for a kind."""
    if kind in (INSTANCE, NAMESPACE):
        return (INSTANCE,)
    return (INSTANCE, NAMESPACE, APPLICATION) if kind == PROGRAM else (INSTANCE, NAMESPACE)


def _relatives(parent: CdapName | None, artifact: str | None) -> dict[str, tuple[str, ...]]:
    """Return the URNs of every relative that a need may name (CD-1)."""
    above = (parent.urn, *parent.above) if parent is not None else ()
    of_kind = {kind: tuple(urn for urn in above if urn.split(":")[2] == kind) for kind in (INSTANCE, NAMESPACE)}
    made_from = cdap_entity_ids.read(artifact) if artifact is not None else None
    return {**of_kind, cdap.PARENT: above[:1], cdap.ARTIFACT: (made_from.urn,) if made_from is not None else ()}
