"""The form of a request: what is asked for, for whom, until when and why, and the body of the API that it states.

Links fill it in: pairs of `privilege` and `resource`, or the URN of a role, group, external role or policy. Those stand
fixed above the fields, unless a resource comes without a privilege, which is then chosen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils import timezone

from policies.http.pages.filter_forms import UserUrnField, user_urn
from policies.models.people import GROUP_PREFIX
from policies.models.policy import POLICY_PREFIX
from policies.models.request import MAX_NOTE_LENGTH
from policies.models.roles import ROLE_PREFIX
from policies.requests.items import EXTERNAL_ROLE_PREFIX, MAX_ITEMS, ItemKind

#: Quick ends, in days, and an end that is typed.
DURATIONS = {"1": "1 day", "14": "2 weeks", "90": "90 days", "date": "A date"}

#: What can be asked for: the value of `what` in the address, and the label of its tab.
KINDS = {
    "entity": "Privileges",
    "scope": "Privileges by filter",
    ItemKind.ROLE.value: "Role",
    ItemKind.GROUP.value: "Group",
    ItemKind.EXTERNAL_ROLE.value: "External role",
    ItemKind.POLICY.value: "Policy",
}

#: Kinds that are one URN, with what its names begin with; a plain name gets the beginning.
TARGETS = {
    ItemKind.ROLE.value: ROLE_PREFIX,
    ItemKind.GROUP.value: GROUP_PREFIX,
    ItemKind.EXTERNAL_ROLE.value: EXTERNAL_ROLE_PREFIX,
    ItemKind.POLICY.value: POLICY_PREFIX,
}

#: Fields that say what is asked for.
SUBJECT_FIELDS = ("privilege", "resource", "field", "values", "target")

_SCOPE_FIELDS = {
    "DOMAIN": "in the domain",
    "CONTAINER": "in the container",
    "TAG": "with the tag",
    "GLOSSARY": "with the glossary term",
    "TYPE": "of the type",
}

#: Field of a problem, by the first part of its pointer.
_FIELDS_BY_POINTER = {"actor": "actor", "reason": "reason", "ticket": "ticket"}

_MAX_URN_LENGTH = 512
_TEXT_INPUT = {"autocomplete": "off"}


@dataclass(frozen=True, slots=True)
class LinkedItems:
    """The statement of an address: a kind, items that are fixed, and a resource whose privilege is chosen."""

    kind: str
    items: tuple[Mapping[str, Any], ...] = ()
    resource: str = ""

    @classmethod
    def read(cls, query: QueryDict) -> "LinkedItems":
        """Return what a query string states; a part that says nothing is left out."""
        targets = [{kind: query[kind]} for kind in TARGETS if query.get(kind)]
        if targets:
            return cls(next(iter(targets[0])), tuple(targets[:MAX_ITEMS]))
        privileges, resources = query.getlist("privilege")[:MAX_ITEMS], query.getlist("resource")
        if not any(privileges):
            kind = query.get("what", "")
            return cls(kind if kind in KINDS else "entity", resource=resources[0] if resources else "")
        resources += [""] * (len(privileges) - len(resources))
        pairs = zip(privileges, resources, strict=False)
        return cls("entity", tuple(_build_item(names, urn) for names, urn in pairs if _split(names)))


class RequestForm(forms.Form):
    """Fields of a request: its items, actor, end and reason; the linked items decide which of them there are."""

    privilege = forms.CharField(
        label="Privileges",
        required=False,
        max_length=2_000,
        help_text="Names of privileges, such as EDIT_ENTITY_TAGS; commas between several.",
        widget=forms.TextInput(attrs={**_TEXT_INPUT, "list": "privileges"}),
    )
    resource = forms.CharField(
        label="On",
        required=False,
        max_length=_MAX_URN_LENGTH,
        help_text="The name or URN of something in the catalog. If empty: the platform itself.",
        widget=forms.TextInput(attrs=_TEXT_INPUT),
    )
    field = forms.ChoiceField(label="On everything", choices=list(_SCOPE_FIELDS.items()), required=False)
    values = forms.CharField(
        label="Which one",
        required=False,
        max_length=10_000,
        help_text="URNs, or types such as dataset; one a line. One of them is enough.",
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    target = forms.CharField(
        required=False,
        max_length=_MAX_URN_LENGTH,
        help_text="Its id or URN.",
        widget=forms.TextInput(attrs=_TEXT_INPUT),
    )
    actor = UserUrnField(
        label="For",
        required=False,
        max_length=_MAX_URN_LENGTH,
        help_text="User name or URN. If empty: yourself.",
        widget=forms.TextInput(attrs=_TEXT_INPUT),
    )
    duration = forms.ChoiceField(label="Until", choices=list(DURATIONS.items()), widget=forms.RadioSelect)
    date = forms.DateField(
        label="Last day (UTC)",
        required=False,
        help_text="It is included.",
        widget=forms.DateInput(attrs={"type": "date"}),
    )
    reason = forms.CharField(
        label="Reason",
        required=False,
        max_length=MAX_NOTE_LENGTH,
        help_text="Those who decide read it.",
        widget=forms.Textarea(attrs={"rows": 3, "maxlength": MAX_NOTE_LENGTH}),
    )
    ticket = forms.CharField(label="Ticket", required=False, help_text="The address of a ticket, if there is one.")

    def __init__(self, data: Any, *, linked: LinkedItems, is_giving: bool, initial: Mapping[str, Any]) -> None:
        """Keep the fields that this kind of request has; somebody who gives says to whom."""
        super().__init__(data, initial=dict(initial))
        self.linked = linked
        for name in _list_absent(linked):
            del self.fields[name]
        if "target" in self.fields:
            self.fields["target"].label = KINDS[linked.kind]
        if is_giving:
            self.fields["actor"].label = "Give to"
            self.fields["actor"].help_text = "User name or URN."

    def clean(self) -> dict[str, Any]:
        """Return the values; a filter names at least one thing."""
        values: dict[str, Any] = super().clean() or {}
        if "values" in self.fields and not (values.get("values") or "").split():
            self.add_error("values", "Name at least one.")
        return values

    def build_body(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the body of the API that values of the fields state; without items while it names nothing."""
        body: dict[str, Any] = {
            "items": self._build_items(values),
            "reason": values.get("reason") or "",
            "ticket": values.get("ticket") or "",
        }
        if values.get("actor"):
            body["actor"] = user_urn(values["actor"])
        until = _find_until(values)
        return body | ({"until": until.isoformat()} if until is not None else {})

    def name_field(self, pointer: str) -> str | None:
        """Return the field that a problem is about, None for one of something that is fixed."""
        first, *rest = pointer.strip("/").split("/")
        if first == "until":
            name = "date" if self.data.get("duration") == "date" else "duration"
        elif first == "items":
            name = next((name for name in ("resource", "scope") if name in rest), "privilege")
            name = "target" if "target" in self.fields else {"scope": "values"}.get(name, name)
        else:
            name = _FIELDS_BY_POINTER.get(first, "")
        return name if name in self.fields else None

    def _build_items(self, values: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        if self.linked.items:
            return list(self.linked.items)
        if self.linked.kind in TARGETS:
            target = (values.get("target") or "").strip()
            prefix = TARGETS[self.linked.kind]
            return [{self.linked.kind: target if target.startswith("urn:") else f"{prefix}{target}"}] if target else []
        names = _split(values.get("privilege") or "")
        if not names:
            return []
        if self.linked.kind == "scope":
            criterion = {"field": values.get("field") or "DOMAIN", "values": (values.get("values") or "").split()}
            return [{"privileges": names, "scope": {"criteria": [criterion]}}]
        return [_build_item(",".join(names), self.linked.resource or values.get("resource") or "")]


def _list_absent(linked: LinkedItems) -> Sequence[str]:
    """Return the fields that a form has no use for."""
    if linked.items:
        return SUBJECT_FIELDS
    if linked.kind in TARGETS:
        return [name for name in SUBJECT_FIELDS if name != "target"]
    kept_names = ("privilege", "field", "values") if linked.kind == "scope" else ("privilege", "resource")
    return [name for name in SUBJECT_FIELDS if name not in kept_names or (name == "resource" and linked.resource)]


def _build_item(names: str, resource: str) -> dict[str, Any]:
    privileges = _split(names)
    target = {"urn": resource} if resource else None
    if len(privileges) == 1:
        return {"privilege": privileges[0], "resource": target}
    return {"any_of": [privileges], "resource": target}


def _split(names: str) -> list[str]:
    return list(dict.fromkeys(names.replace(",", " ").split()))


def _find_until(values: Mapping[str, Any]) -> datetime | None:
    """Return the end that the form states: the end of a day that was typed; None for one that was left out."""
    if values["duration"] != "date":
        # Whole minutes: the longest time that a rule allows is counted a moment later.
        return timezone.now().replace(second=0, microsecond=0) + timedelta(days=int(values["duration"]))
    date = values.get("date")
    if date is None:
        return None
    return datetime.combine(date, time.max, tzinfo=timezone.get_default_timezone())
