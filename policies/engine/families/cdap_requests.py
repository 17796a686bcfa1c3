"""Checked questions about CDAP operations: requirement, relatives, and the entities that a create would make.

Both authorization and application of an operation resolve their requests here, so that both decide the same question.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from policies.engine.errors import InvalidQuestion, Problem
from policies.engine.families import cdap, cdap_entity_ids
from policies.engine.families.cdap_entity_ids import APPLICATION, INSTANCE, NAMESPACE, PROGRAM, CdapName
from policies.engine.requirements import Requirement

#: Pointers to the parts of a question in the request body.
POINTERS = {"entity": "/entity", "parent": "/parent", "artifact": "/related/artifact", "programs": "/related/programs"}


@dataclass(frozen=True, slots=True)
class OperationRequest:
    """The parts of a question as they were sent. `kind` is given if the entity has no name yet."""

    operation: str
    entity: str | None = None
    kind: str = ""
    parent: str | None = None
    artifact: str | None = None
    programs: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ResolvedOperation:
    """A valid question.

    `entity` is the one operated on, None for a question about a container (`container`, by default the instance) and
    for an entity without a name yet. `created_urns` are the URNs that a create makes, the entity first.
    """

    operation: cdap.CdapOperation
    entity: CdapName | None
    container: CdapName | None
    requirement: Requirement
    relatives: Mapping[str, tuple[str, ...]]
    created_urns: tuple[str, ...]

    def resulting_grants(self, principal: str) -> tuple[cdap.ResultingGrant, ...]:
        """Return the grants that a create gives to the principal (CD-15, CD-16)."""
        return tuple(cdap.ResultingGrant(principal, urn) for urn in self.created_urns)


def resolve(request: OperationRequest, pointers: Mapping[str, str] = POINTERS) -> ResolvedOperation:
    """Check a question and return it resolved.

    Raises UnknownOperation, and InvalidQuestion with every problem and its pointer.
    """
    operation = cdap.get_operation(request.operation)
    reader = _RequestReader(operation, request, {**POINTERS, **pointers})
    entity, container = reader.read_entity()
    parent = reader.read_parent(entity)
    reader.check_related(entity)
    if reader.problems:
        raise InvalidQuestion(reader.problems)
    relative_names = {cdap.ARTIFACT} if request.artifact is not None else set()
    is_create = operation.effect is cdap.OperationEffect.CREATE and entity is not None
    return ResolvedOperation(
        operation=operation,
        entity=entity,
        container=container,
        requirement=cdap.get_requirement(request.operation, relative_names, is_on_container=container is not None),
        relatives=_relative_urns(parent, request.artifact),
        created_urns=(entity.urn, *dict.fromkeys(request.programs)) if is_create and entity is not None else (),
    )


class _RequestReader:
    """Collects the problems of one question."""

    def __init__(self, operation: cdap.CdapOperation, request: OperationRequest, pointers: Mapping[str, str]) -> None:
        self.problems: list[Problem] = []
        self._operation = operation
        self._request = request
        self._pointers = pointers

    def read_entity(self) -> tuple[CdapName | None, CdapName | None]:
        """Return the entity and the container of the question, at most one of them."""
        request, operation = self._request, self._operation
        if request.entity is None:
            if operation.is_about_many:
                return None, cdap_entity_ids.parse(cdap_entity_ids.INSTANCE_URN)
            is_unnamed = operation.effect is cdap.OperationEffect.CREATE and request.kind
            if not is_unnamed:
                self._note("required", "entity", "Name the entity that is operated on.")
            elif request.kind != operation.kind:
                self._note_mismatch(f"{operation.name} is not about a {request.kind}.")
            return None, None
        name = cdap_entity_ids.parse(request.entity)
        if name is None:
            self._note("entity.not_cdap", "entity", f"{request.entity} names no CDAP entity.")
            return None, None
        if operation.is_about_many and name.kind in _container_kinds(operation.kind):
            return None, name
        if name.kind != operation.kind:
            self._note_mismatch(f"{name.urn} is a {name.kind}; {operation.name} is not about one.")
        return name, None

    def read_parent(self, entity: CdapName | None) -> CdapName | None:
        """Return the parent of the entity; one given in the question must be the one in the name (CD-1)."""
        request, kind = self._request, self._operation.kind
        expected_parent = cdap_entity_ids.parse(cdap_entity_ids.INSTANCE_URN) if kind == NAMESPACE else None
        expected_parent = (
            cdap_entity_ids.parse(entity.parent) if entity is not None and entity.parent else expected_parent
        )
        if request.parent is None:
            if (
                expected_parent is None
                and request.entity is None
                and not self._operation.is_about_many
                and not self.problems
            ):
                self._note("required", "parent", "Say in which entity it is to be created.")
            return expected_parent
        parent = cdap_entity_ids.parse(request.parent)
        parent_kind = {NAMESPACE: INSTANCE, PROGRAM: APPLICATION}.get(kind, NAMESPACE)
        if parent is None or (parent != expected_parent if expected_parent is not None else parent.kind != parent_kind):
            detail = (
                f"It is contained in {expected_parent.urn}."
                if expected_parent is not None
                else f"A {kind} is contained in a CDAP {parent_kind}."
            )
            self._note("parent.mismatch", "parent", detail)
        return parent

    def check_related(self, entity: CdapName | None) -> None:
        """Check the artifact and the programs of a deployment."""
        request, operation = self._request, self._operation
        if request.artifact is not None:
            artifact = cdap_entity_ids.parse(request.artifact)
            if cdap.ARTIFACT not in operation.optional:
                self._note("related.unused", "artifact", f"{operation.name} looks at no artifact.")
            elif artifact is None or artifact.kind != "artifact":
                self._note("type.mismatch", "artifact", f"{request.artifact} is no artifact.")
        if request.programs and not (operation.kind == APPLICATION and operation.effect is cdap.OperationEffect.CREATE):
            self._note("related.unused", "programs", f"{operation.name} makes no programs.")
            return
        for index, urn in enumerate(request.programs):
            program = cdap_entity_ids.parse(urn)
            if program is None or program.kind != PROGRAM or entity is None or program.parent != entity.urn:
                application_name = entity.urn if entity is not None else "the application"
                problem = Problem(
                    "type.mismatch",
                    f"{self._pointers['programs']}/{index}",
                    f"{urn} is no program of {application_name}.",
                )
                self.problems.append(problem)

    def _note_mismatch(self, detail: str) -> None:
        self._note("type.mismatch", "entity", detail)

    def _note(self, code: str, part: str, detail: str) -> None:
        self.problems.append(Problem(code, self._pointers[part], detail))


def _container_kinds(kind: str) -> tuple[str, ...]:
    """Return the kinds of containers in which entities of a kind can be listed."""
    if kind in (INSTANCE, NAMESPACE):
        return (INSTANCE,)
    return (INSTANCE, NAMESPACE, APPLICATION) if kind == PROGRAM else (INSTANCE, NAMESPACE)


def _relative_urns(parent: CdapName | None, artifact: str | None) -> dict[str, tuple[str, ...]]:
    """Return the URNs of every relative that a need may name (CD-1), as relative -> URNs."""
    ancestors = (parent.urn, *parent.ancestors) if parent is not None else ()
    urns_by_kind = {
        kind: tuple(urn for urn in ancestors if urn.split(":")[2] == kind) for kind in (INSTANCE, NAMESPACE)
    }
    artifact_name = cdap_entity_ids.parse(artifact) if artifact is not None else None
    return {
        **urns_by_kind,
        cdap.PARENT: ancestors[:1],
        cdap.ARTIFACT: (artifact_name.urn,) if artifact_name is not None else (),
    }
