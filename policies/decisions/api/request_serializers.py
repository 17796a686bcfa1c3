"""Questions as they are sent (api.md section 1), and what `authority` understands."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rest_framework.exceptions import ErrorDetail
from rest_framework.settings import api_settings

from policies.decisions.api import operation_requests
from policies.decisions.api.operation_requests import Needed
from policies.engine.families.cdap import Resultant
from policies.engine.model import Actor
from policies.engine.ports import FacetSource
from policies.engine.requirements import alternatives, one
from policies.engine.selectors import ID
from policies.errors import Invalid, PolicyAppError
from policies.http.api import strict_fields
from policies.models.people import USER_PREFIX
from policies.pdp import authorizer, fact_cache, inverse_queries
from policies.pdp.authorizer import Ask, Asked

#: What asking about somebody else needs: a privilege of our own for services that enforce, or managing policies.
OTHERS = inverse_queries.ABOUT_OTHERS

#: Where a problem of a whole object stands.
WHOLE = api_settings.NON_FIELD_ERRORS_KEY

#: Entity types that Datazone calls otherwise.
_OTHER_NAMES = {"corpuser": "user", "dataHubRole": "role"}

#: Most questions of one call.
BATCH = 10_000
#: Most URNs of one list.
LISTED = 1_000
#: Most alternatives of one question, and most privileges of one alternative.
MAX_ALTERNATIVES = 50
#: Most URNs beside the resources (sub-resources, related entities) and most members of any lists, in all questions of
#: one call together.
MAX_BESIDE = 10_000
MAX_MEMBERS = 20_000
#: Most columns of one table.
COLUMNS = 1_000


class ResourceIn(strict_fields.Strict):
    """What a question is about: a `urn`, a `type` with an `id`, or a `type` alone.

    `project` and `parent` say where something is to be created; `branch`, `columns` and `path` narrow a question about
    a Datazone object.
    """

    urn = strict_fields.Urn(required=False, allow_null=True)
    type = strict_fields.Text(required=False, allow_null=True, max_length=64)
    id = strict_fields.ObjectId(required=False, allow_null=True)
    project = strict_fields.ObjectId(required=False, allow_null=True)
    parent = strict_fields.Urn(required=False, allow_null=True)  # type: ignore[assignment]  # the base has one
    branch = strict_fields.Text(required=False, allow_null=True, max_length=255)
    columns = strict_fields.List(
        child=strict_fields.Text(max_length=255), required=False, allow_null=True, max_length=COLUMNS
    )
    path = strict_fields.Text(required=False, allow_null=True, max_length=4096)

    def contradictions(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Refuse a resource that names nothing, or an id that cannot be looked up."""
        if "id" in given and "urn" in given:
            return {"id": [ErrorDetail("Give urn or id, not both.", "resource.twice")]}
        if "id" in given and "type" not in given:
            return {"type": [ErrorDetail("An id needs its type.", "required")]}
        if "urn" not in given and "type" not in given:
            return {WHOLE: [ErrorDetail("Give urn, or type with id, or type.", "resource.empty")]}
        return {}


class RelatedIn(strict_fields.Strict):
    """Further entities that an operation looks at."""

    domains = strict_fields.List(child=strict_fields.Urn(), required=False, max_length=LISTED)
    assets = strict_fields.List(child=strict_fields.Urn(), required=False, max_length=LISTED)
    subjects = strict_fields.List(child=strict_fields.Urn(), required=False, max_length=LISTED)
    product = strict_fields.Urn(required=False)
    parent = strict_fields.Urn(required=False)  # type: ignore[assignment]  # the base has one
    artifact = strict_fields.Urn(required=False, allow_null=True)
    programs = strict_fields.List(child=strict_fields.Urn(), required=False, max_length=LISTED)


class VersionIn(strict_fields.Strict):
    """The policy version from which on an answer counts; one that is not known yet is answered with 503."""

    at_least_version = strict_fields.Whole(required=False, allow_null=True, min_value=0)


class QuestionIn(VersionIn):
    """May this actor do this with that? Exactly one of `privilege`, `any_of` and `operation` says what."""

    actor = strict_fields.ActorUrn(required=False, allow_null=True, help_text="Left out: the caller.")
    privilege = strict_fields.Text(required=False, allow_null=True, max_length=255)
    any_of = strict_fields.List(
        child=strict_fields.List(child=strict_fields.Text(max_length=255), max_length=MAX_ALTERNATIVES),
        required=False,
        allow_null=True,
        max_length=MAX_ALTERNATIVES,
        help_text="Any list suffices, all of that list are needed.",
    )
    operation = strict_fields.Text(required=False, allow_null=True, max_length=255)
    resource = ResourceIn(required=False, allow_null=True)
    sub_resources = strict_fields.List(
        child=strict_fields.Urn(),
        required=False,
        allow_null=True,
        max_length=LISTED,
        help_text="Further entities that the action affects.",
    )
    related = RelatedIn(required=False, allow_null=True)
    explain = strict_fields.Flag(required=False, default=False)

    def contradictions(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Refuse a question that says twice, or not at all, what is to be done."""
        said = [name for name in ("privilege", "any_of", "operation") if name in given]
        if not said:
            return {WHOLE: [ErrorDetail("Give privilege, any_of or operation.", "question.empty")]}
        error = ErrorDetail(f"Give only one of {', '.join(said)}.", "question.twice")
        return {name: [error] for name in said[1:]}


class BatchIn(VersionIn):
    """Up to 10,000 questions; each is answered, or refused, in its place."""

    questions = strict_fields.List(child=strict_fields.Json(), max_length=BATCH)


class WhoIn(VersionIn):
    """Who may use this privilege, on that resource or without one?"""

    privilege = strict_fields.Text(max_length=255)
    resource = ResourceIn(required=False, allow_null=True)


class GrantedIn(VersionIn):
    """Which privileges does this actor have, on that resource or without one?"""

    actor = strict_fields.ActorUrn(required=False, allow_null=True, help_text="Left out: the caller.")
    resource = ResourceIn(required=False, allow_null=True)


@dataclass(frozen=True, slots=True)
class Question:
    """One question that can be asked; `resultant` are the grants that the operation would give."""

    actor: Actor
    ask: Ask
    is_explained: bool = False
    resultant: tuple[Resultant, ...] = ()


@dataclass(slots=True)
class Facts:
    """What must be looked up to understand questions.

    Types of known entities, URNs of objects by type and id, object ids of the projects that are parents, and actors.
    """

    types: Mapping[str, str] = field(default_factory=dict)
    objects: Mapping[tuple[str, str], str] = field(default_factory=dict)
    projects: Mapping[str, str] = field(default_factory=dict)
    actors: Mapping[str, Actor] = field(default_factory=dict)


def checked(sent: Any) -> dict[str, Any]:
    """Return one question, checked; raises ValidationError with every problem and its place.

    Nearly all questions are plain, and see at a glance to be what the serializer would let pass, at a twentieth of its
    cost; it looks at all others.
    """
    return {**sent, "explain": False} if _is_plain(sent) else strict_fields.checked(QuestionIn, sent)


def _is_plain(sent: Any) -> bool:
    """Whether this is a privilege or operation, perhaps of a user and on a URN, without anything to object to."""
    if type(sent) is not dict or not sent.keys() <= _PLAIN or ("privilege" in sent) is ("operation" in sent):
        return False
    wanted = sent.get("privilege") or sent.get("operation")
    if not (type(wanted) is str and len(wanted) <= _SHORT and wanted.isprintable()):
        return False
    if "actor" in sent and not (strict_fields.is_urn(sent["actor"]) and sent["actor"].startswith(USER_PREFIX)):
        return False
    return "resource" not in sent or _is_plain_resource(sent["resource"])


def _is_plain_resource(resource: Any) -> bool:
    return type(resource) is dict and resource.keys() == {"urn"} and strict_fields.is_urn(resource["urn"])


#: What plain questions say, and the longest name of what they ask for.
_PLAIN = frozenset({"actor", "privilege", "operation", "resource"})
_SHORT = 255


def check_size(sent: Sequence[Any]) -> None:
    """Raise Invalid where the lists inside the questions of one call have too many members in all.

    Looks at nothing but the lengths of lists.
    """
    members = beside = 0
    for question in sent:
        if not isinstance(question, dict):
            continue
        any_of, related, resource = (question.get(name) for name in ("any_of", "related", "resource"))
        lists = [question.get("sub_resources"), *(related.values() if isinstance(related, dict) else ())]
        beside += sum(len(one) for one in lists if isinstance(one, list))
        if isinstance(any_of, list):
            members += len(any_of) + sum(len(one) for one in any_of if isinstance(one, list))
        if isinstance(resource, dict) and isinstance(columns := resource.get("columns"), list):
            members += len(columns)
    for name, count, most in (
        ("sub-resources and related entities", beside, MAX_BESIDE),
        ("alternatives and columns", members, MAX_MEMBERS),
    ):
        if count > most:
            detail = f"All questions of a call have up to {most} {name} together, not {count}."
            raise Invalid.one(code="list.too_long", pointer="/questions", detail=detail)


def understand(
    *, sent: Sequence[Mapping[str, Any]], by: Actor, may_ask: Callable[[], None]
) -> list[Question | PolicyAppError]:
    """Turn checked questions into what `authority` understands, in order, or into what is wrong with each.

    A number of queries that does not grow with the questions. `may_ask` raises Forbidden unless the caller may ask
    about others; it is called once, when somebody does.
    """
    facts = look_up(sent=sent, by=by)
    refusal = _refusal(may_ask) if facts.actors.keys() != {by.urn} else None
    found: list[Question | PolicyAppError] = []
    for question in sent:
        try:
            who = question.get("actor") or by.urn
            if refusal is not None and who != by.urn:
                raise refusal
            needed = _needed(question, asked(question.get("resource"), facts), facts, who)
            ask = Ask(
                requirement=needed.requirement,
                resource=needed.resource,
                subresources=tuple(question.get("sub_resources") or ()),
                relatives=needed.relatives,
                operation=question.get("operation") or "",
            )
            found.append(Question(facts.actors[who], ask, question.get("explain", False), needed.resultant))
        except PolicyAppError as error:
            found.append(error)
    return found


def look_up(*, sent: Iterable[Mapping[str, Any]], by: Actor) -> Facts:
    """Load what the questions name, all at once."""
    urns: set[str] = set()
    objects: set[tuple[str, str]] = set()
    actors: set[str] = set()
    parents: set[str] = set()
    for question in sent:
        resource = question.get("resource") or {}
        if resource.get("urn"):
            urns.add(resource["urn"])
        elif resource.get("id"):
            objects.add((resource["type"], resource["id"]))
        elif resource.get("parent"):
            parents.add(resource["parent"])
        urns.update((question.get("related") or {}).get("domains") or ())
        actors.add(question.get("actor") or by.urn)
    source = authorizer.facets()
    others = actors - {by.urn}
    return Facts(
        types=source.known(urns=urns) if urns else {},
        objects=source.find(objects=objects) if objects else {},
        projects=_projects(source, parents),
        actors={**(fact_cache.actors(urns=others) if others else {}), by.urn: by},
    )


def asked(resource: Mapping[str, Any] | None, facts: Facts) -> Asked | None:
    """Return the resource of a question; raises Invalid for a type that is not the entity's.

    An object that nobody registered is judged by its type and the URN its id makes.
    """
    if resource is None:
        return None
    urn, kind = resource.get("urn") or "", resource.get("type") or ""
    if urn:
        real = facts.types.get(urn) or urn.split(":", 3)[2]
        if kind not in ("", real, _OTHER_NAMES.get(real)):
            detail = f"{urn} is a {real}, not a {kind}."
            raise Invalid.one(code="type.mismatch", pointer="/resource/type", detail=detail)
        found = Asked(urn, kind or real)
        return found if len(resource) == 1 else _narrowed(found, resource)
    if resource.get("id"):
        urn = facts.objects.get((kind, resource["id"])) or f"urn:li:{kind}:{resource['id']}"
        return _narrowed(Asked(urn, kind), resource)
    project = resource.get("project") or facts.projects.get(resource.get("parent") or "", "")
    return _narrowed(Asked("", kind, project=project), resource)


def _narrowed(found: Asked, resource: Mapping[str, Any]) -> Asked:
    return replace(
        found,
        branch=resource.get("branch") or "",
        columns=tuple(resource.get("columns") or ()) or None,
        path=resource.get("path"),
    )


def _projects(source: FacetSource, parents: Collection[str]) -> dict[str, str]:
    """Return the object ids of those parents that are projects."""
    if not parents:
        return {}
    loaded = source.load(urns=parents, fields={ID})
    return {urn: min(one.values(ID)) for urn, one in loaded.items() if one.type == "project" and one.values(ID)}


def _refusal(may_ask: Callable[[], None]) -> PolicyAppError | None:
    try:
        may_ask()
    except PolicyAppError as error:
        return error
    return None


def _needed(question: Mapping[str, Any], resource: Asked | None, facts: Facts, actor: str) -> Needed:
    if question.get("privilege") is not None:
        return Needed(one(question["privilege"]), resource)
    if question.get("any_of") is not None:
        return Needed(alternatives(question["any_of"]), resource)
    rule = operation_requests.derived(question["operation"])
    if rule is None:
        return operation_requests.named(question=question, resource=resource, actor=actor)
    return Needed(rule, resource, _relatives(question, facts))


def _relatives(question: Mapping[str, Any], facts: Facts) -> dict[str, tuple[str, ...]]:
    """Return the relatives that the question names; those that the catalog does not keep are named even when empty.

    A product is created in domains that exist (rules/datahub.md c).
    """
    named: dict[str, tuple[str, ...]] = {"assets": (), "parent": ()}
    for name, value in (question.get("related") or {}).items():
        named[name] = (value,) if isinstance(value, str) else tuple(value or ())
    if any(domain not in facts.types for domain in named.get("domains", ())):
        named["domains"] = ()
    return named
