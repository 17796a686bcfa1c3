"""Shapes of the questions (api.md section 1), and their translation into requests to `authorizer`."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from drf_spectacular.utils import extend_schema_serializer
from rest_framework.exceptions import ErrorDetail
from rest_framework.settings import api_settings

from policies.decisions.api import operation_requests
from policies.decisions.api.operation_requests import QuestionRequirement
from policies.engine.families import datazone_resource_patterns
from policies.engine.families.cdap import ResultingGrant
from policies.engine.model import Actor
from policies.engine.ports import FacetSource
from policies.engine.requirements import any_of_requirement, privilege_requirement
from policies.engine.selectors import ID
from policies.errors import Invalid, PolicyAppError
from policies.http.api import strict_fields
from policies.models.people import USER_PREFIX
from policies.pdp import snapshot_store
from policies.pdp.access_requests import NO_RELATIVES, AccessRequest, ResourceRef
from policies.pdp.ports import facet_source

#: Key of the errors of a whole object.
NON_FIELD_ERRORS_KEY = api_settings.NON_FIELD_ERRORS_KEY

#: Entity type → its name in Datazone, where they differ.
_DATAZONE_TYPE_NAMES = {"corpuser": "user", "dataHubRole": "role"}

#: Keys of a resource that say which entity it is, and nothing about a part of it.
_NAMING_KEYS = frozenset({"urn", "type"})

#: Most questions in one call.
MAX_BATCH_QUESTIONS = 10_000
#: Most URNs in one list.
MAX_LIST_URNS = 1_000
#: Most alternatives of one question, and most privileges of one alternative.
MAX_ALTERNATIVES = 50
#: Most URNs beside the resources (sub-resources, related entities) and most members of any lists, in all questions of
#: one call together.
MAX_EXTRA_URNS = 10_000
MAX_LIST_MEMBERS = 20_000
#: Most columns of one table.
MAX_COLUMNS = 1_000


class ResourceIn(strict_fields.StrictSerializer):
    """The resource of a question: a `urn`, a `type` with an `id`, or a `type` alone.

    `project` and `parent` say where something is to be created; `branch`, `columns` and `path` narrow a question about
    a Datazone object.
    """

    urn = strict_fields.StrictUrn(required=False, allow_null=True)
    type = strict_fields.StrictString(required=False, allow_null=True, max_length=64)
    id = strict_fields.StrictObjectId(required=False, allow_null=True)
    project = strict_fields.StrictObjectId(required=False, allow_null=True)
    parent = strict_fields.StrictUrn(required=False, allow_null=True)  # type: ignore[assignment]  # the base has one
    branch = strict_fields.StrictString(required=False, allow_null=True, max_length=255)
    columns = strict_fields.StrictList(
        child=strict_fields.StrictString(max_length=255), required=False, allow_null=True, max_length=MAX_COLUMNS
    )
    path = strict_fields.StrictString(required=False, allow_null=True, max_length=4096)

    def find_contradictions(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return errors for a resource without URN and type, with both URN and id, or with an id but no type."""
        if "id" in values and "urn" in values:
            return {"id": [ErrorDetail("Give urn or id, not both.", "resource.twice")]}
        if "id" in values and "type" not in values:
            return {"type": [ErrorDetail("An id needs its type.", "required")]}
        if "urn" not in values and "type" not in values:
            return {NON_FIELD_ERRORS_KEY: [ErrorDetail("Give urn, or type with id, or type.", "resource.empty")]}
        return {}


class RelatedIn(strict_fields.StrictSerializer):
    """Further entities that an operation looks at."""

    domains = strict_fields.StrictList(child=strict_fields.StrictUrn(), required=False, max_length=MAX_LIST_URNS)
    assets = strict_fields.StrictList(child=strict_fields.StrictUrn(), required=False, max_length=MAX_LIST_URNS)
    subjects = strict_fields.StrictList(child=strict_fields.StrictUrn(), required=False, max_length=MAX_LIST_URNS)
    product = strict_fields.StrictUrn(required=False)
    parent = strict_fields.StrictUrn(required=False)  # type: ignore[assignment]  # the base has one
    artifact = strict_fields.StrictUrn(required=False, allow_null=True)
    programs = strict_fields.StrictList(child=strict_fields.StrictUrn(), required=False, max_length=MAX_LIST_URNS)


class VersionIn(strict_fields.StrictSerializer):
    """The minimum policy version of an answer; a version that is not available yet is answered with 503."""

    at_least_version = strict_fields.StrictInteger(required=False, allow_null=True, min_value=0)


class QuestionIn(VersionIn):
    """May this actor do this with that? Exactly one of `privilege`, `any_of` and `operation` says what."""

    actor = strict_fields.StrictActorUrn(required=False, allow_null=True, help_text="Left out: the caller.")
    privilege = strict_fields.StrictString(required=False, allow_null=True, max_length=255)
    any_of = strict_fields.StrictList(
        child=strict_fields.StrictList(child=strict_fields.StrictString(max_length=255), max_length=MAX_ALTERNATIVES),
        required=False,
        allow_null=True,
        max_length=MAX_ALTERNATIVES,
        help_text="Any list suffices, all of that list are needed.",
    )
    operation = strict_fields.StrictString(required=False, allow_null=True, max_length=255)
    resource = ResourceIn(required=False, allow_null=True)
    sub_resources = strict_fields.StrictList(
        child=strict_fields.StrictUrn(),
        required=False,
        allow_null=True,
        max_length=MAX_LIST_URNS,
        help_text="Further entities that the action affects.",
    )
    related = RelatedIn(required=False, allow_null=True)
    explain = strict_fields.StrictBoolean(required=False, default=False)

    def find_contradictions(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return errors unless exactly one of `privilege`, `any_of` and `operation` is given."""
        names = [name for name in ("privilege", "any_of", "operation") if name in values]
        if not names:
            return {NON_FIELD_ERRORS_KEY: [ErrorDetail("Give privilege, any_of or operation.", "question.empty")]}
        error = ErrorDetail(f"Give only one of {', '.join(names)}.", "question.twice")
        return {name: [error] for name in names[1:]}


class BatchIn(VersionIn):
    """Up to 10,000 questions; each is answered, or refused, in its place."""

    questions = strict_fields.StrictList(child=strict_fields.AnyJson(), max_length=MAX_BATCH_QUESTIONS)


@extend_schema_serializer(component_name="WhoIn")
class AllowedActorsIn(VersionIn):
    """A question for the actors that may use a privilege, on a resource or without one."""

    privilege = strict_fields.StrictString(max_length=255)
    resource = ResourceIn(required=False, allow_null=True)


@extend_schema_serializer(component_name="GrantedIn")
class AllowedPrivilegesIn(VersionIn):
    """A question for the privileges of an actor, on a resource or without one."""

    actor = strict_fields.StrictActorUrn(required=False, allow_null=True, help_text="Left out: the caller.")
    resource = ResourceIn(required=False, allow_null=True)


class ParsedQuestion(NamedTuple):
    """One question ready to be answered; `resulting_grants` are the grants that the operation would give."""

    actor: Actor
    access_request: AccessRequest
    is_explained: bool = False
    resulting_grants: tuple[ResultingGrant, ...] = ()


@dataclass(slots=True)
class QuestionFacts:
    """Facts needed to parse questions, loaded for all questions of a call.

    URN → type, (type, object id) → URN, URN of a project → object id, URN of an actor → actor.
    """

    types: Mapping[str, str] = field(default_factory=dict)
    objects: Mapping[tuple[str, str], str] = field(default_factory=dict)
    projects: Mapping[str, str] = field(default_factory=dict)
    actors: Mapping[str, Actor] = field(default_factory=dict)


def validate_question(payload: Any) -> dict[str, Any]:
    """Return one validated question; raises ValidationError with every problem and its place.

    Nearly all questions are plain and are recognized as valid at a twentieth of the serializer's cost; the serializer
    checks all others.
    """
    return {**payload, "explain": False} if is_plain_question(payload) else strict_fields.validate(QuestionIn, payload)


def is_plain_question(payload: Any) -> bool:
    """Whether this is a valid question of a privilege or operation, with at most a user and the URN of a resource."""
    if (
        type(payload) is not dict
        or not payload.keys() <= _PLAIN_KEYS
        or ("privilege" in payload) is ("operation" in payload)
    ):
        return False
    requested_name = payload.get("privilege") or payload.get("operation")
    if not (
        type(requested_name) is str and len(requested_name) <= _MAX_PLAIN_NAME_LENGTH and requested_name.isprintable()
    ):
        return False
    if "actor" in payload and not (strict_fields.is_urn(payload["actor"]) and payload["actor"].startswith(USER_PREFIX)):
        return False
    return "resource" not in payload or _is_plain_resource(payload["resource"])


def _is_plain_resource(resource: Any) -> bool:
    return type(resource) is dict and resource.keys() == {"urn"} and strict_fields.is_urn(resource["urn"])


#: Keys of plain questions, and the longest name of a privilege or operation in them.
_PLAIN_KEYS = frozenset({"actor", "privilege", "operation", "resource"})
_MAX_PLAIN_NAME_LENGTH = 255


def check_size(questions: Sequence[Any]) -> None:
    """Raise Invalid where the lists inside the questions of one call have too many members in all.

    Only lengths of lists are read (MAX_EXTRA_URNS, MAX_LIST_MEMBERS).
    """
    member_count = extra_urn_count = 0
    for question in questions:
        if not isinstance(question, dict):
            continue
        any_of, related, resource = (question.get(name) for name in ("any_of", "related", "resource"))
        lists = [question.get("sub_resources"), *(related.values() if isinstance(related, dict) else ())]
        extra_urn_count += sum(len(item) for item in lists if isinstance(item, list))
        if isinstance(any_of, list):
            member_count += len(any_of) + sum(len(item) for item in any_of if isinstance(item, list))
        if isinstance(resource, dict) and isinstance(columns := resource.get("columns"), list):
            member_count += len(columns)
    for name, count, max_count in (
        ("sub-resources and related entities", extra_urn_count, MAX_EXTRA_URNS),
        ("alternatives and columns", member_count, MAX_LIST_MEMBERS),
    ):
        if count > max_count:
            detail = f"All questions of a call have up to {max_count} {name} together, not {count}."
            raise Invalid.from_problem(code="list.too_long", pointer="/questions", detail=detail)


def parse_questions(
    *, questions: Sequence[Mapping[str, Any]], by: Actor, check_may_ask: Callable[[], None]
) -> list[ParsedQuestion | PolicyAppError]:
    """Return each validated question as a ParsedQuestion or the error that refuses it, in order.

    The number of queries does not grow with the questions. `check_may_ask` raises Forbidden unless the caller may ask
    about others; it is called at most once, when any question is about another actor.
    """
    facts = load_question_facts(questions=questions, by=by)
    refusal = _find_refusal(check_may_ask) if facts.actors.keys() != {by.urn} else None
    return [_parse_question(question, by, facts, refusal) for question in questions]


def _parse_question(
    question: Mapping[str, Any], by: Actor, facts: QuestionFacts, refusal: PolicyAppError | None
) -> ParsedQuestion | PolicyAppError:
    """Return a validated question, or the error that refuses it; `refusal` refuses those about others."""
    actor_urn = question.get("actor") or by.urn
    if refusal is not None and actor_urn != by.urn:
        return refusal
    privilege = question.get("privilege")
    resulting_grants: tuple[ResultingGrant, ...] = ()
    try:
        resource = build_resource_ref(question.get("resource"), facts)
        if resource is not None:
            check_action_types(question, resource.type)
        if privilege is not None:
            requirement, relatives = privilege_requirement(privilege), NO_RELATIVES
        else:
            requirement, resource, relatives, resulting_grants = _build_question_requirement(
                question, resource, facts, actor_urn
            )
    except PolicyAppError as error:
        return error
    subresources = tuple(question.get("sub_resources") or ())
    access_request = AccessRequest(requirement, resource, subresources, relatives, question.get("operation") or "")
    return ParsedQuestion(facts.actors[actor_urn], access_request, question.get("explain", False), resulting_grants)


def check_action_types(question: Mapping[str, Any], resource_type: str) -> None:
    """Raise Invalid where a privilege of the question is about another type of resource; every such place is named."""
    privilege = question.get("privilege")
    if privilege is not None:
        if ":" not in privilege:
            return
        pairs = [(privilege, "/privilege")]
    else:
        pairs = [
            (name, f"/any_of/{number}/{index}")
            for number, names in enumerate(question.get("any_of") or ())
            for index, name in enumerate(names)
        ]
    problems = [
        problem
        for name, pointer in pairs
        if (problem := datazone_resource_patterns.check_question(name, resource_type, pointer)) is not None
    ]
    if problems:
        raise Invalid(problems)


def load_question_facts(*, questions: Iterable[Mapping[str, Any]], by: Actor) -> QuestionFacts:
    """Load the facts of all questions in a fixed number of queries.

    Facets of their resources are loaded with them: deciding finds those in the cache.
    """
    urns: set[str] = set()
    objects: set[tuple[str, str]] = set()
    actors: set[str] = set()
    parents: set[str] = set()
    for question in questions:
        actors.add(question.get("actor") or by.urn)
        if resource := question.get("resource"):
            if urn := resource.get("urn"):
                urns.add(urn)
            elif resource.get("id"):
                objects.add((resource["type"], resource["id"]))
            elif resource.get("parent"):
                parents.add(resource["parent"])
        if related := question.get("related"):
            urns.update(related.get("domains") or ())
    source = facet_source()
    loaded_facts = source.load_facts(
        actors=actors - {by.urn}, urns=urns, fields=snapshot_store.get_current().all_tested_fields
    )
    return QuestionFacts(
        types=loaded_facts.types,
        objects=source.find(objects=objects) if objects else {},
        projects=_load_projects(source, parents) if parents else {},
        actors={**loaded_facts.actors, by.urn: by},
    )


def build_resource_ref(resource: Mapping[str, Any] | None, facts: QuestionFacts) -> ResourceRef | None:
    """Return the resource of a question, None for the platform; raises Invalid for a type that is not the entity's.

    An unregistered object is represented by its type and the URN made from its id.
    """
    if resource is None:
        return None
    urn, kind = resource.get("urn") or "", resource.get("type") or ""
    if urn:
        entity_type = facts.types.get(urn) or urn.split(":", 3)[2]
        if kind and kind not in (entity_type, _DATAZONE_TYPE_NAMES.get(entity_type)):
            detail = f"{urn} is a {entity_type}, not a {kind}."
            raise Invalid.from_problem(code="type.mismatch", pointer="/resource/type", detail=detail)
        resource_ref = ResourceRef(urn, kind or entity_type)
        return resource_ref if resource.keys() <= _NAMING_KEYS else _narrow_resource(resource_ref, resource)
    if resource.get("id"):
        urn = facts.objects.get((kind, resource["id"])) or f"urn:li:{kind}:{resource['id']}"
        return _narrow_resource(ResourceRef(urn, kind), resource)
    project = resource.get("project") or facts.projects.get(resource.get("parent") or "", "")
    return _narrow_resource(ResourceRef("", kind, project=project), resource)


def _narrow_resource(resource_ref: ResourceRef, resource: Mapping[str, Any]) -> ResourceRef:
    return resource_ref._replace(
        branch=resource.get("branch") or "",
        columns=tuple(resource.get("columns") or ()) or None,
        path=resource.get("path"),
    )


def _load_projects(source: FacetSource, parents: Collection[str]) -> dict[str, str]:
    """Return the object ids of those parents that are projects, by URN."""
    resources = source.load(urns=parents, fields={ID})
    return {
        urn: min(project.values(ID))
        for urn, project in resources.items()
        if project.type == "project" and project.values(ID)
    }


def _find_refusal(check_may_ask: Callable[[], None]) -> PolicyAppError | None:
    try:
        check_may_ask()
    except PolicyAppError as error:
        return error
    return None


def _build_question_requirement(
    question: Mapping[str, Any], resource: ResourceRef | None, facts: QuestionFacts, actor: str
) -> QuestionRequirement:
    """Return the requirement of a question of an operation or of alternatives."""
    if question.get("any_of") is not None:
        return QuestionRequirement(any_of_requirement(question["any_of"]), resource)
    rule = operation_requests.find_derived_requirement(question["operation"])
    if rule is None:
        return operation_requests.resolve_named_operation(question=question, resource=resource, actor=actor)
    return QuestionRequirement(rule, resource, _relative_urns(question, facts))


def _relative_urns(question: Mapping[str, Any], facts: QuestionFacts) -> dict[str, tuple[str, ...]]:
    """Return the URNs of each relative in the question; `assets` and `parent`, not in the catalog, always have a key.

    `domains` is empty if one of them does not exist: a product is created in domains that exist (rules/datahub.md c).
    """
    urns_by_relative: dict[str, tuple[str, ...]] = {"assets": (), "parent": ()}
    for name, value in (question.get("related") or {}).items():
        urns_by_relative[name] = (value,) if isinstance(value, str) else tuple(value or ())
    if any(domain not in facts.types for domain in urns_by_relative.get("domains", ())):
        urns_by_relative["domains"] = ()
    return urns_by_relative
