"""Schemas of the aspects that belong to this app, and validation of changes to them.

Known fields are checked. Unknown ones are stored if the aspect describes a user, group or policy, and refused if it
gives access (ADR 19). Pointers are `/<index of the change>/<field>`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from policies.authoring.services import policies, policy_drafts
from policies.engine.errors import Problem, quote
from policies.engine.families.document_reader import escape
from policies.engine.model import SYSTEM_ACTOR
from policies.errors import Invalid
from policies.identity.services import groups, roles, users
from policies.models import documents
from policies.models.fields import is_storable
from policies.models.people import GROUP_PREFIX, MAX_NAME_LENGTH, USER_PREFIX
from policies.models.policy import POLICY_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.writes.validation import MAX_EMAIL_LENGTH, MAX_TEXT_LENGTH, Checks

USER, GROUP, ROLE, POLICY = users.ENTITY_TYPE, groups.ENTITY_TYPE, roles.ENTITY_TYPE, "dataHubPolicy"
POLICY_INFO = "dataHubPolicyInfo"

PREFIXES: Mapping[str, str] = MappingProxyType(
    {USER: USER_PREFIX, GROUP: GROUP_PREFIX, ROLE: ROLE_PREFIX, POLICY: POLICY_PREFIX}
)


@dataclass(frozen=True, slots=True)
class AspectChange:
    """One aspect of one entity as a client wrote it; a document of None deletes the aspect.

    `is_patch`: the client changed a part of the stored document, and removed what is at `removed_paths` by name.
    `keeps_unknown`: the document is the stored one with something removed, and may keep its unknown fields.
    """

    urn: str
    entity_type: str
    name: str
    document: dict[str, Any] | None
    is_patch: bool = False
    keeps_unknown: bool = False
    removed_paths: frozenset[tuple[str, ...]] = frozenset()


#: Adds the problems of the value of one field.
FieldCheck = Callable[[Checks, Any, str], None]


@dataclass(frozen=True, slots=True)
class AspectSchema:
    """The known fields of an aspect with their checks. A closed schema has no other fields."""

    fields: Mapping[str, FieldCheck]
    required_fields: Sequence[str] = ()
    is_closed: bool = False


def _limit_text(limit: int) -> FieldCheck:
    return lambda checks, value, pointer: checks.validate_text(value, pointer, limit=limit)


def _require_choice(*choices: str) -> FieldCheck:
    return lambda checks, value, pointer: checks.validate_choice(value, pointer, choices)


def _require_flag(checks: Checks, value: Any, pointer: str) -> None:
    if not isinstance(value, bool):
        checks.add("type", pointer, "This must be true or false.")


def _require_texts(checks: Checks, value: Any, pointer: str) -> None:
    if not (isinstance(value, list) and all(isinstance(item, str) for item in value)):
        checks.add("type", pointer, "This must be a list of texts.")


def _require_urns(prefix: str) -> FieldCheck:
    def check(checks: Checks, value: Any, pointer: str) -> None:
        if not isinstance(value, list):
            checks.add("type", pointer, "This must be a list of URNs.")
            return
        for position, urn in enumerate(value):
            item_pointer = f"{pointer}/{position}"
            if not isinstance(urn, str) or not urn.startswith(prefix):
                checks.add("urn.invalid", item_pointer, f"This is a URN that starts {prefix}.")
            else:
                checks.validate_identifier(urn.removeprefix(prefix), item_pointer)

    return check


def _accept(*_: object) -> None:
    """Accept a field that is in DataHub's schema and affects no decision."""


def _close(fields: Mapping[str, FieldCheck], *required_fields: str) -> AspectSchema:
    return AspectSchema(fields, required_fields, is_closed=True)


_NAME, _LONG_TEXT, _EMAIL = map(_limit_text, (MAX_NAME_LENGTH, MAX_TEXT_LENGTH, MAX_EMAIL_LENGTH))
_USER_TEXTS = {"displayName": _NAME, "title": _NAME, "email": _EMAIL}
_GROUP_TEXTS = {"description": _LONG_TEXT, "email": _EMAIL}
_STATUS_SCHEMA = _close({"removed": _require_flag, "lifecycleStage": _accept, "lifecycleLastUpdated": _accept})
_ROLES_SCHEMA = _close({"roles": _require_urns(ROLE_PREFIX)}, "roles")

SCHEMAS: Mapping[tuple[str, str], AspectSchema] = MappingProxyType(
    {
        (USER, documents.USER_INFO): AspectSchema(
            {**_USER_TEXTS, "fullName": _NAME, "active": _require_flag}, ("active",)
        ),
        (USER, documents.USER_EDITABLE): AspectSchema({**_USER_TEXTS, "aboutMe": _LONG_TEXT}),
        (USER, documents.USER_STATUS): _close({"status": _NAME, "lastModified": _accept}, "status"),
        (USER, documents.STATUS): _STATUS_SCHEMA,
        (USER, documents.EXTERNAL_GROUPS): _close({"groups": _require_urns(GROUP_PREFIX)}, "groups"),
        (USER, documents.NATIVE_GROUPS): _close({"nativeGroups": _require_urns(GROUP_PREFIX)}, "nativeGroups"),
        (USER, documents.ROLES): _ROLES_SCHEMA,
        (USER, documents.SUB_TYPES): _close({"typeNames": _require_texts}, "typeNames"),
        (GROUP, documents.GROUP_INFO): AspectSchema({"displayName": _NAME, **_GROUP_TEXTS}),
        (GROUP, documents.GROUP_EDITABLE): AspectSchema(_GROUP_TEXTS),
        (GROUP, documents.STATUS): _STATUS_SCHEMA,
        (GROUP, documents.ORIGIN): _close(
            {"type": _require_choice("NATIVE", "EXTERNAL"), "externalType": _accept}, "type"
        ),
        (GROUP, documents.ROLES): _ROLES_SCHEMA,
        (ROLE, documents.ROLE_INFO): _close(
            {"name": _NAME, "description": _LONG_TEXT, "editable": _require_flag}, "name"
        ),
        (ROLE, documents.STATUS): _STATUS_SCHEMA,
        (POLICY, POLICY_INFO): AspectSchema({}),
        (POLICY, documents.STATUS): _STATUS_SCHEMA,
    }
)

#: (entity type, aspect) of secrets; they are written on their own pages and refused here.
SECRET_ASPECTS = frozenset(
    {(USER, "corpUserCredentials"), ("dataHubAccessToken", "dataHubAccessTokenInfo"), ("inviteToken", "inviteToken")}
)


def find_problems(changes: Sequence[AspectChange]) -> list[Problem]:
    """Return every problem of these changes that can be found without the stored rows."""
    problems: list[Problem] = []
    for position, change in enumerate(changes):
        checks = Checks()
        _check(checks, change)
        problems += [
            Problem(problem.code, f"/{position}{problem.pointer}", problem.detail) for problem in checks.problems
        ]
    return problems


def _check(checks: Checks, change: AspectChange) -> None:
    _check_urn(checks, change)
    document = change.document
    if document is None:
        return
    if not _is_storable(document):
        checks.add("text.unstorable", "", "A text holds no NUL and no half of a surrogate pair, a number is finite.")
        return
    schema = SCHEMAS[change.entity_type, change.name]
    _check_fields(checks, schema, document, is_closed=schema.is_closed and not change.keeps_unknown)
    if (change.entity_type, change.name) == (POLICY, POLICY_INFO):
        _check_policy(checks, change)
    if change.name == documents.STATUS and change.entity_type in (ROLE, POLICY) and document.get("removed"):
        checks.add("status.hard_only", "/removed", "A policy or role is deleted, or the policy's state set INACTIVE.")


def _check_urn(checks: Checks, change: AspectChange) -> None:
    prefix = PREFIXES[change.entity_type]
    if not change.urn.startswith(prefix):
        checks.add("urn.invalid", "/urn", f"The URN of a {change.entity_type} starts {prefix}.")
    elif change.urn == SYSTEM_ACTOR:
        checks.add("username.reserved", "/urn", "The name of the system actor is reserved.")
    elif change.entity_type != POLICY:
        checks.validate_identifier(change.urn.removeprefix(prefix), "/urn")
    elif not is_storable(change.urn):
        checks.add("text.unstorable", "/urn", "A text holds no NUL and no half of a surrogate pair.")


def _check_fields(checks: Checks, schema: AspectSchema, document: Mapping[str, Any], *, is_closed: bool) -> None:
    for name in schema.required_fields:
        if document.get(name) is None:
            checks.add("required", f"/{name}", "This field is required.")
    for name, value in document.items():
        if name in schema.fields and value is not None:
            schema.fields[name](checks, value, f"/{name}")
        elif name not in schema.fields and is_closed:
            checks.add("field.unknown", f"/{escape(name)}", f"There is no field {quote(name)} here.")


def _check_policy(checks: Checks, change: AspectChange) -> None:
    attempts: tuple[Callable[[], object], ...] = (
        lambda: policies.validate_urn(change.urn),
        lambda: policy_drafts.validate_draft(policy_drafts.PolicyInput("datahub", change.document, keeps_unknown=True)),
    )
    for attempt in attempts:
        try:
            attempt()
        except Invalid as error:
            checks.problems += error.problems


def _is_storable(value: Any) -> bool:
    match value:
        case str():
            return is_storable(value)
        case float():
            return value - value == 0
        case list():
            return all(map(_is_storable, value))
        case dict():
            return all(is_storable(key) and _is_storable(item) for key, item in value.items())
        case _:
            return True
