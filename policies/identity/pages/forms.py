"""Forms for users, groups, roles, invitations and credentials. Services validate again, and more strictly."""

from typing import Any

from django import forms

from policies.identity.services.access_tokens import DURATIONS
from policies.identity.services.invitations import LIFETIMES
from policies.models import GroupProfile, User
from policies.models.people import MAX_IDENTIFIER_LENGTH, MAX_NAME_LENGTH
from policies.writes.validation import MAX_EMAIL_LENGTH, MAX_TEXT_LENGTH

_DURATION_LABELS = {
    "ONE_HOUR": "1 hour",
    "ONE_DAY": "1 day",
    "ONE_WEEK": "1 week",
    "ONE_MONTH": "1 month",
    "THREE_MONTHS": "3 months",
    "SIX_MONTHS": "6 months",
    "ONE_YEAR": "1 year",
    "NO_EXPIRY": "No end",
}
_IDENTIFIER_HELP = "Printable characters without comma and round brackets. It cannot be changed later."
#: Longest accepted password, in characters; checking a longer one takes more time.
_MAX_PASSWORD_LENGTH = 1024


def _search_field(placeholder: str) -> forms.CharField:
    return forms.CharField(
        label="Search",
        required=False,
        max_length=200,
        widget=forms.SearchInput(attrs={"placeholder": placeholder}),
    )


def _text_field(label: str, length: int, *, is_required: bool = False, **options: Any) -> forms.CharField:
    return forms.CharField(
        label=label,
        required=is_required,
        max_length=length,
        **options,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        error_messages={"required": "This field is required."},
    )


def _textarea_field(label: str) -> forms.CharField:
    return forms.CharField(
        label=label, required=False, max_length=MAX_TEXT_LENGTH, widget=forms.Textarea(attrs={"rows": 3})
    )


def _password_field(label: str, autocomplete: str, *, is_required: bool = True, **options: Any) -> forms.CharField:
    return forms.CharField(
        label=label,
        required=is_required,
        strip=False,
        empty_value=None,
        max_length=_MAX_PASSWORD_LENGTH,
        **options,
        widget=forms.PasswordInput(attrs={"autocomplete": autocomplete}),
        error_messages={"required": "This field is required."},
    )


def _choice_field(label: str, choices: list[tuple[str, str]], **options: Any) -> forms.ChoiceField:
    messages = {"invalid_choice": "There is no such choice.", "required": "Choose one."}
    return forms.ChoiceField(label=label, choices=choices, error_messages=messages, **options)


class SearchFilterForm(forms.Form):
    """Filters of a list with only a search by name."""

    q = _search_field("Name")


class UserFilterForm(forms.Form):
    """Filters of the list of users."""

    q = _search_field("Name, user name or address")
    state = _choice_field("State", [("", "All"), *User.State.choices], required=False)


class GroupFilterForm(forms.Form):
    """Filters of the list of groups."""

    q = _search_field("Name or id")
    origin = _choice_field("Origin", [("", "All"), *GroupProfile.Origin.choices], required=False)


class TokenFilterForm(forms.Form):
    """Filters of the list of tokens, by their user."""

    owner = forms.CharField(
        label="Of",
        required=False,
        max_length=512,
        widget=forms.SearchInput(attrs={"placeholder": "User name or URN", "autocomplete": "off"}),
    )
    whose = _choice_field("Show", [("", "My own"), ("ALL", "Everybody's")], required=False)


class FingerprintForm(forms.Form):
    """A form with the fingerprint of the facts it was built from, by which an edit conflict is detected."""

    seen = forms.CharField(required=False, max_length=64, widget=forms.HiddenInput)


class NewUserForm(forms.Form):
    """A person to create."""

    username = _text_field("User name", MAX_IDENTIFIER_LENGTH, is_required=True, help_text=_IDENTIFIER_HELP)
    display_name = _text_field("Display name", MAX_NAME_LENGTH)
    email = _text_field("Email", MAX_EMAIL_LENGTH)
    title = _text_field("Title", MAX_NAME_LENGTH)
    password = _password_field(
        "Password", "new-password", is_required=False, help_text="If empty, the person signs in with a reset link."
    )


class ProfileForm(FingerprintForm):
    """The profile of a person, as that person may edit it."""

    display_name = _text_field("Display name", MAX_NAME_LENGTH)
    title = _text_field("Title", MAX_NAME_LENGTH)
    description = _textarea_field("About")


class UserForm(ProfileForm):
    """The profile of a person, with the address, as user managers may edit it."""

    email = _text_field("Email", MAX_EMAIL_LENGTH)


class NamedForm(forms.Form):
    """The name and description of a group or role."""

    name = _text_field("Name", MAX_NAME_LENGTH, is_required=True)
    description = _textarea_field("Description")


class RoleForm(NamedForm, FingerprintForm):
    """The profile of a role."""


class GroupForm(RoleForm):
    """The profile of a group."""

    email = _text_field("Email", MAX_EMAIL_LENGTH)


class NewNamedForm(NamedForm):
    """A group or role to create."""

    identifier = _text_field(
        "Id", MAX_IDENTIFIER_LENGTH, help_text=f"If empty, one is generated. {_IDENTIFIER_HELP}", empty_value=None
    )


class NewServiceForm(forms.Form):
    """A service account to create."""

    display_name = _text_field("Name", MAX_NAME_LENGTH, is_required=True)
    description = _textarea_field("Description")


class ServiceForm(NewServiceForm, FingerprintForm):
    """The name and description of a service account."""


class PickerForm(forms.Form):
    """A form without fields, whose values are chosen in pickers."""


class TokenForm(forms.Form):
    """A token to create."""

    name = _text_field("Name", MAX_NAME_LENGTH, is_required=True, help_text="The purpose of the token.")
    description = _textarea_field("Description")
    duration = _choice_field("Valid for", [(name, _DURATION_LABELS[name]) for name in DURATIONS], initial="ONE_MONTH")


class InviteForm(forms.Form):
    """An invitation to create."""

    role = _choice_field(
        "Role",
        [],
        required=False,
        help_text="People who sign up with the link get this role. It replaces the roles of an existing account.",
    )
    duration = _choice_field("Valid for", [(name, _DURATION_LABELS[name]) for name in LIFETIMES], initial="ONE_WEEK")

    def __init__(self, *args: Any, roles: list[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["role"].choices = [("", "No role"), *roles]  # type: ignore[attr-defined]  # a ChoiceField

    def clean_role(self) -> str | None:
        """Return the URN of the role, None for no role."""
        return self.cleaned_data["role"] or None


class RepeatedPasswordForm(forms.Form):
    """A form with a new password, entered twice."""

    def clean(self) -> dict[str, Any]:
        """Drop the repetition of the password, after comparing the two."""
        repetition = self.cleaned_data.pop("again", None)
        if repetition is not None and repetition != self.cleaned_data.get("password", repetition):
            self.add_error("again", "The two are not the same.")
        return self.cleaned_data


class SignUpForm(RepeatedPasswordForm):
    """The profile and password of an invited person's new account."""

    username = _text_field("User name", MAX_IDENTIFIER_LENGTH, is_required=True, help_text=_IDENTIFIER_HELP)
    display_name = _text_field("Full name", MAX_NAME_LENGTH)
    email = _text_field("Email", MAX_EMAIL_LENGTH)
    title = _text_field("Title", MAX_NAME_LENGTH)
    password = _password_field("Password", "new-password", help_text="At least 8 characters, and not a common word.")
    again = _password_field("Password again", "new-password")


class NewPasswordForm(RepeatedPasswordForm):
    """A new password."""

    password = _password_field(
        "New password", "new-password", help_text="At least 8 characters, and not a common word."
    )
    again = _password_field("New password again", "new-password")


class OwnPasswordForm(NewPasswordForm):
    """A new password, with the current one."""

    field_order = ("old", "password", "again")

    old = _password_field("Current password", "current-password")
