"""Forms of the catalog's pages: what may be typed, and how it is asked for."""

from collections.abc import Sequence
from datetime import UTC, datetime, time
from typing import Any

from django import forms

from catalog.queries import external_roles
from catalog.urns import LONGEST
from policies.engine.families import cdap

#: Longest description and note, in characters.
TEXT_LENGTH = 20_000

#: How many links an entity may have here.
MOST_LINKS = 100

_WEB_ONLY = "Give an address that begins with http:// or https://."


def _check_web(address: str) -> None:
    if address and not external_roles.is_web(address):
        raise forms.ValidationError(_WEB_ONLY)


class CatalogFilters(forms.Form):
    """What narrows the list of entities. A value that is no choice narrows nothing and is shown as an error."""

    q = forms.CharField(
        label="Search",
        required=False,
        max_length=LONGEST,
        widget=forms.SearchInput(attrs={"placeholder": "Words of the name, or a URN"}),
    )
    type = forms.CharField(label="Type", required=False, max_length=64, widget=forms.Select)
    platform = forms.CharField(label="Platform", required=False, max_length=LONGEST, widget=forms.Select)
    domain = forms.CharField(label="Domain", required=False, max_length=LONGEST, widget=forms.Select)
    tag = forms.CharField(label="Tag", required=False, max_length=LONGEST, widget=forms.Select)
    container = forms.CharField(required=False, max_length=LONGEST, widget=forms.HiddenInput)
    term = forms.CharField(required=False, max_length=LONGEST, widget=forms.HiddenInput)

    def offer(self, name: str, choices: list[tuple[str, str]], everything: str) -> None:
        """Set what a select offers; a value that was asked for and is not among it stays choosable."""
        asked = str(self[name].value() or "")
        known = [*choices, *([(asked, asked)] if asked and asked not in dict(choices) else [])]
        widget = self.fields[name].widget
        widget.choices = [("", everything), *known]


class DescriptionForm(forms.Form):
    """What people should know about an entity."""

    text = forms.CharField(
        label="Description", required=False, max_length=TEXT_LENGTH, widget=forms.Textarea(attrs={"rows": 10})
    )


class DeprecationForm(forms.Form):
    """Whether an entity should still be used."""

    is_deprecated = forms.BooleanField(label="This should no longer be used", required=False)
    note = forms.CharField(
        label="Note",
        required=False,
        max_length=TEXT_LENGTH,
        help_text="Why, and what to use in its place.",
        widget=forms.Textarea(attrs={"rows": 4}),
    )
    leaves_on = forms.DateField(
        label="Will be removed on",
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
        input_formats=["%Y-%m-%d"],
        error_messages={"invalid": "Give a date as 2027-01-31."},
    )

    @property
    def leaves_at(self) -> datetime | None:
        """The day it goes, as its first moment in UTC."""
        day = self.cleaned_data["leaves_on"]
        return None if day is None else datetime.combine(day, time(), tzinfo=UTC)


class LinkForm(forms.Form):
    """A link to a page about an entity; without an address there is no link."""

    url = forms.CharField(
        label="Address",
        required=False,
        max_length=2000,
        validators=[_check_web],
        widget=forms.URLInput(attrs={"placeholder": "https://"}),
    )
    label = forms.CharField(label="What it is", required=False, max_length=500)

    def clean(self) -> dict[str, Any]:
        """Refuse words without an address."""
        data = super().clean() or {}
        if data.get("label") and not data.get("url") and "url" not in self.errors:
            self.add_error("url", "Give the address, or clear the words to drop the link.")
        return data


LinkFormSet = forms.formset_factory(LinkForm, extra=2, max_num=MOST_LINKS, validate_max=True, absolute_max=MOST_LINKS)


class RoleFilters(forms.Form):
    """What narrows the list of external roles."""

    q = forms.CharField(
        label="Search",
        required=False,
        max_length=LONGEST,
        widget=forms.SearchInput(attrs={"placeholder": "Words of the name, or a URN"}),
    )
    type = forms.ChoiceField(label="Access type", required=False, error_messages={"invalid_choice": "No such type."})
    held = forms.BooleanField(label="Only those I hold", required=False)

    def __init__(self, *args: Any, types: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["type"].choices = [("", "Any"), *((one, one) for one in types)]  # type: ignore[attr-defined]


class RoleForm(forms.Form):
    """What is said about an external role; holders and datasets are chosen beside it."""

    urn = forms.CharField(
        label="URN",
        required=False,
        max_length=LONGEST,
        help_text="urn:li:role: and an id. If empty, one is generated.",
        widget=forms.TextInput(attrs={"placeholder": "urn:li:role:snowflake_reader"}),
    )
    name = forms.CharField(label="Name", max_length=255)
    type = forms.CharField(
        label="Access type",
        max_length=64,
        help_text="READ, WRITE or ADMIN, or what the source system calls it.",
    )
    description = forms.CharField(
        label="Description", required=False, max_length=TEXT_LENGTH, widget=forms.Textarea(attrs={"rows": 4})
    )
    request_url = forms.CharField(
        label="Where to request it",
        required=False,
        max_length=2000,
        validators=[_check_web],
        widget=forms.URLInput(attrs={"placeholder": "https://"}),
    )


class GrantForm(forms.Form):
    """What is given on a CDAP entity; to whom is chosen beside it."""

    privileges = forms.MultipleChoiceField(
        label="Privileges",
        choices=[*((one, one) for one in cdap.PRIVILEGES), (cdap.ALL, "ALL: the four of them")],
        help_text="Each stands alone: ADMIN gives neither READ nor WRITE.",
        error_messages={"required": "Choose at least one."},
        widget=forms.CheckboxSelectMultiple,
    )


class PatternForm(GrantForm):
    """What is given on all entities of a kind whose names begin alike. `kinds` are (kind, words for several of it)."""

    kind = forms.ChoiceField(label="On all", error_messages={"invalid_choice": "There is no such kind here."})
    start = forms.CharField(
        label="Whose names begin with",
        required=False,
        max_length=200,
        help_text="If empty: all of them, including those created later.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    field_order = ("kind", "start", "privileges")

    def __init__(self, kinds: Sequence[tuple[str, str]], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["kind"].choices = list(kinds)  # type: ignore[attr-defined]  # a ChoiceField, which has them
