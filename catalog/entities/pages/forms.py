"""Forms of the catalog's pages."""

from datetime import UTC, datetime, time
from typing import Any

from django import forms

from catalog.aspects.web_links import is_web_address
from catalog.urns import MAX_URN_BYTES

#: Maximum length of descriptions and notes, in characters.
MAX_TEXT_LENGTH = 20_000

#: Maximum number of links of an entity in the form.
MAX_LINKS = 100

_WEB_URL_MESSAGE = "Give an address that begins with http:// or https://."


def validate_web_address(address: str) -> None:
    """Raise ValidationError for a non-empty text that may not become a link."""
    if address and not is_web_address(address):
        raise forms.ValidationError(_WEB_URL_MESSAGE)


class CatalogFilterForm(forms.Form):
    """Filters of the list of entities. An invalid value does not filter and is shown as an error."""

    q = forms.CharField(
        label="Search",
        required=False,
        max_length=MAX_URN_BYTES,
        widget=forms.SearchInput(attrs={"placeholder": "Words of the name, or a URN"}),
    )
    type = forms.CharField(label="Type", required=False, max_length=64, widget=forms.Select)
    platform = forms.CharField(label="Platform", required=False, max_length=MAX_URN_BYTES, widget=forms.Select)
    domain = forms.CharField(label="Domain", required=False, max_length=MAX_URN_BYTES, widget=forms.Select)
    tag = forms.CharField(label="Tag", required=False, max_length=MAX_URN_BYTES, widget=forms.Select)
    container = forms.CharField(required=False, max_length=MAX_URN_BYTES, widget=forms.HiddenInput)
    term = forms.CharField(required=False, max_length=MAX_URN_BYTES, widget=forms.HiddenInput)

    def set_choices(self, name: str, choices: list[tuple[str, str]], empty_label: str) -> None:
        """Set the options of a select; a requested value that is not among them stays selectable."""
        value = str(self[name].value() or "")
        options = [*choices, *([(value, value)] if value and value not in dict(choices) else [])]
        widget = self.fields[name].widget
        widget.choices = [("", empty_label), *options]


class DescriptionForm(forms.Form):
    """Description of an entity."""

    text = forms.CharField(
        label="Description", required=False, max_length=MAX_TEXT_LENGTH, widget=forms.Textarea(attrs={"rows": 10})
    )


class DeprecationForm(forms.Form):
    """Deprecation of an entity."""

    is_deprecated = forms.BooleanField(label="This should no longer be used", required=False)
    note = forms.CharField(
        label="Note",
        required=False,
        max_length=MAX_TEXT_LENGTH,
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
    def decommission_time(self) -> datetime | None:
        """The removal date, as its first moment in UTC."""
        day = self.cleaned_data["leaves_on"]
        return None if day is None else datetime.combine(day, time(), tzinfo=UTC)


class LinkForm(forms.Form):
    """A link to a page about an entity; a form without an address is no link."""

    url = forms.CharField(
        label="Address",
        required=False,
        max_length=2000,
        validators=[validate_web_address],
        widget=forms.URLInput(attrs={"placeholder": "https://"}),
    )
    label = forms.CharField(label="What it is", required=False, max_length=500)

    def clean(self) -> dict[str, Any]:
        """Reject a label without an address."""
        data = super().clean() or {}
        if data.get("label") and not data.get("url") and "url" not in self.errors:
            self.add_error("url", "Give the address, or clear the words to drop the link.")
        return data


LinkFormSet = forms.formset_factory(LinkForm, extra=2, max_num=MAX_LINKS, validate_max=True, absolute_max=MAX_LINKS)
