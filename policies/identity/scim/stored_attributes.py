"""The values of SCIM attributes as SQL expressions: whether a row has one, and by what rows are sorted.

They follow `resource_mapping`, which says where an attribute is stored: in columns, in fields of `corpUserInfo`, or as
its source delivered it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from django.db.models import Case, Exists, F, Func, Max, OuterRef, Q, Subquery, TextField, Value, When
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce, Lower, NullIf
from django.db.models.lookups import Contains, In, IsNull
from scim2_models import InvalidValueException

from policies.identity.scim.schemas import ENTERPRISE_SCHEMA, PROVIDER
from policies.models import ChangeEvent, Membership, documents

#: What JSON holds in place of no value.
_EMPTY_TEXTS = ("", "[]", "{}")
#: Sub-attributes of `emails` that the address of the account has, too (`resource_mapping`).
_OWN_EMAIL_PARTS = ("value", "type", "primary")
_EVERY_ROW, _NO_ROW = ~Q(pk__in=[]), Q(pk__in=[])
#: Attributes that every resource has, without those of `meta` that none has.
_GIVEN = ("schemas", "id", "meta", "meta.resourcetype", "meta.created", "meta.lastmodified", "meta.location")


class _JsonText(Func):
    """The value at a path in a column of JSON, as text; null where there is none."""

    output_field = TextField()

    def __init__(self, column: str, *path: str | int) -> None:
        self.path = path
        super().__init__(F(column))

    def as_sqlite(self, compiler: Any, *_: Any, **__: Any) -> tuple[str, list[Any]]:  # type: ignore[override]
        """Return SQLite's function."""
        column, parameters = compiler.compile(self.source_expressions[0])
        steps = (f"[{step}]" if isinstance(step, int) else f'."{step}"' for step in self.path)
        return f"json_extract({column}, %s)", [*parameters, f"${''.join(steps)}"]

    def as_postgresql(self, compiler: Any, *_: Any, **__: Any) -> tuple[str, list[Any]]:
        """Return PostgreSQL's operator."""
        column, parameters = compiler.compile(self.source_expressions[0])
        return f"({column}::jsonb #>> %s::text[])", [*parameters, [str(step) for step in self.path]]


def find_presence(resource: str, name: str) -> Q | None:
    """Return the condition that a row has a value of an attribute, in lower case; None for one that none declares."""
    return _PRESENCE[resource].get(name)


def list_order(resource: str, path: str, *, is_descending: bool) -> list[Any]:
    """Return the order of rows by an attribute; those without a value are last, or first. Raises InvalidValueException.

    Letter case counts only where it does for comparisons.
    """
    value = _SORT_VALUES[resource].get(path.rpartition(":")[2].lower())
    if value is None:
        raise InvalidValueException(detail=f"{path} cannot be sorted by.")
    order = value.desc(nulls_first=True) if is_descending else value.asc(nulls_last=True)
    return [order, "pk"]


def _drop_empty(value: Combinable) -> Combinable:
    return NullIf(value, Value(""), output_field=TextField())


def _build_info(key: str, column: str | None = None) -> Combinable:
    """Return a field of `corpUserInfo`: what is kept of it, or the column that has the same value."""
    kept_value = _drop_empty(_JsonText("extra", documents.USER_INFO, "kept", key))
    if column is None:
        return kept_value
    keys = _JsonText("extra", documents.USER_INFO, "keys")
    is_same = When(Q(Contains(keys, Value(f'"{key}"'))), then=_drop_empty(F(column)))
    return Coalesce(kept_value, Case(is_same, default=None, output_field=TextField()), output_field=TextField())


def _has_text(value: Combinable) -> Q:
    return Q(IsNull(value, rhs=False)) & ~Q(In(value, _EMPTY_TEXTS))


def _has_part(name: str, part: str) -> Q:
    """Return the condition that an entry of a delivered list has a value of a sub-attribute."""
    return Q(Contains(Coalesce(_JsonText("delivered", name), Value(""), output_field=TextField()), Value(f'"{part}":')))


_INFO_VALUES: Mapping[str, Combinable] = {
    "displayname": _build_info("displayName", "display_name"),
    "title": _build_info("title", "title"),
    "name.formatted": _build_info("fullName"),
    "name.givenname": _build_info("firstName"),
    "name.familyname": _build_info("lastName"),
    "department": _build_info("departmentName"),
}
_SIMPLE_VALUES: Mapping[str, Mapping[str, Combinable]] = {
    "User": {
        "username": _drop_empty(F("username")),
        "externalid": _drop_empty(F("external_id")),
        "emails": _drop_empty(F("email")),
        "emails.value": _drop_empty(F("email")),
        **_INFO_VALUES,
    },
    "Group": {"displayname": _drop_empty(F("name")), "externalid": _drop_empty(F("external_id"))},
}


def _list_attributes(model: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the paths of the attributes that a model declares, and of their sub-attributes, as JSON spells them."""
    for name, field in model.model_fields.items():
        yield (*path, field.serialization_alias or name)


def _iterate_delivered() -> Iterator[tuple[tuple[str, ...], bool]]:
    """Yield the paths of what is stored as it was delivered, and whether it is part of an entry of a list."""
    user, enterprise, _ = PROVIDER.models
    for model, prefix in ((user, ()), (enterprise, (ENTERPRISE_SCHEMA,))):
        for (name,) in _list_attributes(model):
            part_type = getattr(model, name[:1].upper() + name[1:], None)
            yield (*prefix, name), False
            is_list = name in ("emails", "phoneNumbers", "addresses")
            for (part,) in _list_attributes(part_type) if part_type is not None else ():
                yield (*prefix, name, part), is_list


def _name_path(path: tuple[str, ...]) -> str:
    return ".".join(part for part in path if part != ENTERPRISE_SCHEMA).lower()


def _build_user_presence() -> dict[str, Q]:
    presence = dict.fromkeys((*_GIVEN, "username", "active"), _EVERY_ROW) | {"meta.version": _NO_ROW}
    for path, is_in_list in _iterate_delivered():
        condition = _has_part(*path[-2:]) if is_in_list else _has_text(_JsonText("delivered", *path))
        presence.setdefault(_name_path(path), condition)
    presence |= {name: _has_text(value) for name, value in _SIMPLE_VALUES["User"].items()}
    presence["name"] |= presence["name.formatted"] | presence["name.givenname"] | presence["name.familyname"]
    for part in _OWN_EMAIL_PARTS:
        presence[f"emails.{part}"] = ~Q(email="") | _has_part("emails", part)
    presence["emails"] = presence["emails.value"]
    in_group = Q(Exists(Membership.objects.filter(user=OuterRef("pk"), group__profile__is_removed=False)))
    return presence | dict.fromkeys(
        ("groups", *(f"groups.{part}" for part in ("value", "$ref", "display", "type"))), in_group
    )


def _build_group_presence() -> dict[str, Q]:
    presence = dict.fromkeys((*_GIVEN, "displayname"), _EVERY_ROW) | {"meta.version": _NO_ROW}
    members = Membership.objects.filter(
        group=OuterRef("group_id"), is_external=True, user__is_removed=False, user__kind="PERSON"
    )
    presence["externalid"] = ~Q(external_id="")
    return presence | dict.fromkeys(
        ("members", *(f"members.{part}" for part in ("value", "$ref", "type"))), Q(Exists(members))
    )


def _build_sort_values(resource: str) -> dict[str, Any]:
    last_change = ChangeEvent.objects.filter(object_urn=OuterRef("urn")).order_by().values("object_urn")
    changed_at = Subquery(last_change.annotate(last=Max("at")).values("last"))
    values: dict[str, Any] = {
        "id": F("scim_id"),
        "meta.created": F("created_at"),
        "meta.lastmodified": Coalesce(changed_at, F("created_at")),
    }
    if resource == "User":
        values["active"] = F("state")
        for path, is_in_list in _iterate_delivered():
            steps: tuple[str | int, ...] = (*path[:-1], 0, path[-1]) if is_in_list else path
            values.setdefault(_name_path(path), Lower(_drop_empty(_JsonText("delivered", *steps))))
    values |= {name: Lower(value) for name, value in _SIMPLE_VALUES[resource].items()}
    values["externalid"] = _SIMPLE_VALUES[resource]["externalid"]
    return values


_PRESENCE: Mapping[str, Mapping[str, Q]] = {"User": _build_user_presence(), "Group": _build_group_presence()}
_SORT_VALUES: Mapping[str, Mapping[str, Any]] = {name: _build_sort_values(name) for name in ("User", "Group")}
