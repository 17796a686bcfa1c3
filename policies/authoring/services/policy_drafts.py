"""Drafts of policies: what a policy to be stored consists of, whence it is taken, and whether it is valid."""

from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings

from policies.authoring.services import references
from policies.engine import families
from policies.engine.errors import InvalidPolicy, Problem, UnknownFamily
from policies.engine.families import datahub, datahub_fields
from policies.engine.families.document_reader import DocumentReader
from policies.engine.families.validity import Validity, read_stored_instant, read_validity
from policies.engine.model import StatementOrigin
from policies.errors import Invalid
from policies.models import Policy, PolicyEvent

_MAX_NAME_LENGTH = 255


@dataclass(frozen=True, slots=True)
class PolicyInput:
    """A policy to be stored: family, document, and the columns that the document of some families cannot hold.

    `state` and `description` are for families whose document has neither; where the document has them they must equal
    it or be None. So is `validity`, of which None keeps what is stored. With `keeps_unknown` (a document of another
    product, or one that is stored already) unknown fields are kept and the policy is INACTIVE; otherwise they make the
    document invalid.
    """

    family: str
    document: Any
    state: str | None = None
    description: str | None = None
    keeps_unknown: bool = False
    validity: Validity | None = None


def version_draft(event: PolicyEvent) -> PolicyInput:
    """Return the draft of a version from its event; the event must not be a deletion."""
    after = event.after
    return PolicyInput(
        event.family,
        datahub.spell_stored_times(after["document"]),
        # Not beside a document that contains the state.
        state=None if "state" in after["document"] else after["state"],
        description=after["description"],
        keeps_unknown=after["state"] != Policy.State.ACTIVE,
        validity=_read_validity(event),
    )


def _read_validity(event: PolicyEvent) -> Validity | None:
    """Return the validity of a version whose document does not have it."""
    if event.family == Policy.Family.DATAHUB:
        return None
    instants = (event.after.get(name) for name in ("valid_from", "valid_until"))
    return Validity(*(None if instant is None else read_stored_instant(instant) for instant in instants))


def draft_with_state(policy: Policy, state: str) -> PolicyInput:
    """Return the policy as a draft with this state, also in the document of a DataHub policy.

    A policy with unknown fields can be deactivated, but activated only without them.
    """
    document = datahub.spell_stored_times(policy.document)
    document |= {"state": state} if "state" in document else {}
    keeps_unknown = state != Policy.State.ACTIVE
    return PolicyInput(
        policy.family, document, state=state, description=policy.description, keeps_unknown=keeps_unknown
    )


def build_stored_draft(policy: Policy) -> PolicyInput:
    """Return a stored policy as the draft that stores it again."""
    columns = families.get(policy.family).column_values(policy.document)
    return PolicyInput(
        policy.family,
        datahub.spell_stored_times(policy.document),
        # Not beside a document that contains them.
        state=None if "state" in columns else policy.state,
        description=None if "description" in columns else policy.description,
        validity=None if "valid_from" in columns else policy.validity,
    )


def draft_with_exceptions(policy: Policy, *, add: Collection[str] = (), remove: Collection[str] = ()) -> PolicyInput:
    """Return the policy as a draft that excepts more people, or fewer: users, groups and roles (URNs).

    Raises Invalid for a family whose policies except nobody.
    """
    if policy.family != Policy.Family.DATAHUB:
        raise Invalid.from_problem(
            code="family.exceptions", pointer="/policy", detail=f"A policy of {policy.family} excepts nobody."
        )
    document = datahub.spell_stored_times(policy.document)
    actors = dict(document["actors"])
    for name, prefix in datahub_fields.EXCLUDED_ACTOR_LISTS.items():
        stored_urns = actors.get(name) or ()
        added_urns = [urn for urn in add if urn.startswith(prefix)]
        urns = [urn for urn in dict.fromkeys([*stored_urns, *added_urns]) if urn not in remove]
        if urns or name in actors:
            actors[name] = urns
    keeps_unknown = policy.state != Policy.State.ACTIVE
    return PolicyInput(policy.family, {**document, "actors": actors}, keeps_unknown=keeps_unknown)


def list_exceptions(policy: Policy) -> frozenset[str]:
    """Return the users, groups and roles (URNs) whom a policy excepts."""
    actors = policy.document.get("actors") or {}
    return frozenset(urn for name in datahub_fields.EXCLUDED_ACTOR_LISTS for urn in actors.get(name) or ())


def validate_draft(draft: PolicyInput, *, existing_urns: Container[str] | None = None) -> dict[str, Any]:
    """Return the document as it would be stored; raises Invalid with every problem. Stores nothing.

    `existing_urns` are the existing ones of the URNs that the document requires; None: they are looked up.
    """
    document: dict[str, Any] = validate_columns(draft, existing_urns=existing_urns)["document"]
    return document


def validate_draft_with_times(
    draft: PolicyInput, *, begins: Any, ends: Any, existing_urns: Container[str] | None = None
) -> tuple[PolicyInput, dict[str, Any]]:
    """Return the draft with the validity of two JSON values that stand beside its document, and `validate_draft`.

    Raises Invalid with every problem of the document and of the values, which are called `valid_from` and
    `valid_until`.
    """
    reader = DocumentReader()
    validity = read_validity(reader, begins, ends, begins_at="/valid_from", ends_at="/valid_until")
    valid_draft = draft if reader.problems else replace(draft, validity=validity)
    try:
        document = validate_draft(valid_draft, existing_urns=existing_urns)
    except Invalid as error:
        raise Invalid([*reader.problems, *error.problems]) from None
    if reader.problems:
        raise Invalid(reader.problems)
    return valid_draft, document


def find_references(drafts: Iterable[PolicyInput]) -> frozenset[str]:
    """Return the existing ones of all URNs that these drafts require, in one query per kind; a draft may be invalid."""
    families_by_name = families.FAMILIES
    return references.find_existing(
        (families_by_name[draft.family], draft.document) for draft in drafts if draft.family in families_by_name
    )


def validate_columns(draft: PolicyInput, *, existing_urns: Container[str] | None = None) -> dict[str, Any]:
    """Validate a draft and return the columns derived from it; raises Invalid."""
    try:
        family = families.get(draft.family)
    except UnknownFamily as error:
        raise Invalid.from_problem(code=error.code, pointer="/family", detail=str(error)) from None
    try:
        document = family.parse(draft.document, custom=settings.CUSTOM_PRIVILEGES, keeps_unknown=draft.keeps_unknown)
    except InvalidPolicy as error:
        missing_references = references.find_missing(
            family=family, document=draft.document, existing_urns=existing_urns
        )
        raise Invalid([*error.problems, *missing_references]) from None
    columns = family.column_values(document)
    problems = references.find_missing(family=family, document=document, existing_urns=existing_urns)
    if not isinstance(existing_urns, references.AnyUrn):
        statements = family.compile(document, StatementOrigin("", ""))
        problems += references.find_lockouts(family=family, statements=statements)
    problems += _find_validity_disagreements(draft, columns)
    problems += [
        Problem(f"{name}.disagrees", f"/{name}", f"The {name} beside the document is not the one in it.")
        for name, input_value in (("state", draft.state), ("description", draft.description))
        if input_value is not None and name in document and input_value != columns[name]
    ]
    if len(columns["name"]) > _MAX_NAME_LENGTH:
        pointer = "/name" if "name" in document else "/displayName"
        problems.append(Problem("name.long", pointer, f"A name has up to {_MAX_NAME_LENGTH} characters."))
    if problems:
        raise Invalid(problems)
    columns.setdefault("state", draft.state or Policy.State.ACTIVE)
    columns.setdefault("description", draft.description or "")
    # A family whose documents hold the times has them from there; beside them they can only agree.
    if draft.validity is not None and "valid_from" not in columns:
        columns |= {"valid_from": draft.validity.begins, "valid_until": draft.validity.ends}
    return {**columns, "document": document}


def _find_validity_disagreements(draft: PolicyInput, columns: Mapping[str, Any]) -> list[Problem]:
    if draft.validity is None or "valid_from" not in columns:
        return []
    return [
        Problem(f"{name}.disagrees", f"/{name}", "The time beside the document is not the one in it.")
        for name, instant in (("valid_from", draft.validity.begins), ("valid_until", draft.validity.ends))
        if instant is not None and instant != columns[name]
    ]


def check_references(draft: PolicyInput) -> None:
    """Check the required URNs again inside the write, after all earlier writes: a role may have been deleted."""
    if problems := references.find_missing(family=families.get(draft.family), document=draft.document):
        raise Invalid(problems)
