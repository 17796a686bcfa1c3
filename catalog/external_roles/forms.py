"""Forms of the pages of external roles."""

from typing import Any

from django import forms

from catalog.entities.pages.forms import MAX_TEXT_LENGTH, validate_web_address
from catalog.urns import MAX_URN_BYTES


class ExternalRoleFilterForm(forms.Form):
    """Filters of the list of external roles."""

    q = forms.CharField(
        label="Search",
        required=False,
        max_length=MAX_URN_BYTES,
        widget=forms.SearchInput(attrs={"placeholder": "Words of the name, or a URN"}),
    )
    type = forms.ChoiceField(label="Access type", required=False, error_messages={"invalid_choice": "No such type."})
    held = forms.BooleanField(label="Only those I hold", required=False)

    def __init__(self, *args: Any, types: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["type"].choices = [("", "Any"), *((type_, type_) for type_ in types)]  # type: ignore[attr-defined]


class ExternalRoleForm(forms.Form):
    """The description of an external role; pickers next to it choose holders and datasets."""

    name = forms.CharField(label="Name", max_length=255)
    type = forms.CharField(
        label="Access type",
        max_length=64,
        help_text="READ, WRITE or ADMIN, or what the source system calls it.",
    )
    description = forms.CharField(
        label="Description", required=False, max_length=MAX_TEXT_LENGTH, widget=forms.Textarea(attrs={"rows": 4})
    )
    request_url = forms.CharField(
        label="Where to request it",
        required=False,
        empty_value=None,
        max_length=2000,
        validators=[validate_web_address],
        widget=forms.URLInput(attrs={"placeholder": "https://"}),
    )


class NewExternalRoleForm(ExternalRoleForm):
    """The description of a new external role, whose URN may be chosen."""

    field_order = ("urn",)

    urn = forms.CharField(
        label="URN",
        required=False,
        empty_value=None,
        max_length=MAX_URN_BYTES,
        help_text="urn:li:role: and an id. If empty, one is generated.",
        widget=forms.TextInput(attrs={"placeholder": "urn:li:role:snowflake_reader"}),
    )
