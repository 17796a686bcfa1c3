"""Forms of the sign-in page, the list of policies and Why."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib.auth.backends import AllowAllUsersModelBackend
from django.contrib.auth.forms import AuthenticationForm

from policies.models import ApprovalRule, Guardrail, Policy, PolicyEffect, User
from policies.models.people import USER_PREFIX

#: Most sub-resources (tags) of one question.
_MAX_SUBRESOURCES = 100


class SignInForm(AuthenticationForm):
    """User name and password. A suspended account is reported only to a caller with its correct password."""

    def get_invalid_login_error(self) -> forms.ValidationError:
        """Return the reason of a failed sign-in, after the same work whether or not the account exists."""
        credentials = {name: self.cleaned_data[name] for name in ("username", "password")}
        user = AllowAllUsersModelBackend().authenticate(self.request, **credentials)
        if isinstance(user, User) and user.state == User.State.SUSPENDED and not user.is_removed:
            return forms.ValidationError(
                "This account is suspended. Ask somebody who manages users and groups.", code="suspended"
            )
        return forms.ValidationError("The user name or the password is wrong.", code="invalid_login")


def _build_choice(label: str, choices: Sequence[tuple[str, str]], everything: str = "Any") -> forms.ChoiceField:
    """Return an optional choice; an invalid one filters nothing and is shown as an error."""
    return forms.ChoiceField(
        label=label,
        required=False,
        choices=[("", everything), *choices],
        error_messages={"invalid_choice": f"There is no such {label.lower()}."},
    )


class UserUrnField(forms.CharField):
    """The URN of somebody; a plain name is taken as a user name."""

    def clean(self, value: Any) -> str:
        """Return the URN, '' for an empty text."""
        return user_urn(super().clean(value))


class _SearchForm(forms.Form):
    q = forms.CharField(
        label="Search",
        required=False,
        max_length=200,
        widget=forms.SearchInput(attrs={"placeholder": "Name or description"}),
    )


class GuardrailFilterForm(_SearchForm):
    """Filters of the list of guardrails."""

    mode = _build_choice("Mode", Guardrail.Mode.choices, "All")
    status = _build_choice("Status", Guardrail.Status.choices)


class ApprovalRuleFilterForm(_SearchForm):
    """Filters of the list of approval rules."""

    state = _build_choice("State", ApprovalRule.State.choices, "All")


class PolicyFilterForm(_SearchForm):
    """Filters of the list of policies."""

    state = _build_choice("State", Policy.State.choices, "All")
    type = _build_choice("Type", Policy.Type.choices)
    effect = _build_choice("Effect", PolicyEffect.choices)
    family = _build_choice("Family", Policy.Family.choices)
    privilege = forms.CharField(
        label="Privilege",
        required=False,
        max_length=200,
        widget=forms.TextInput(attrs={"list": "privileges", "placeholder": "Any", "autocomplete": "off"}),
    )
    actor = UserUrnField(
        label="Actor",
        required=False,
        max_length=512,
        widget=forms.TextInput(attrs={"placeholder": "Name or URN", "autocomplete": "off"}),
    )
    excluded = UserUrnField(
        label="Except",
        required=False,
        max_length=512,
        widget=forms.TextInput(attrs={"placeholder": "Name or URN", "autocomplete": "off"}),
    )


class WhyForm(forms.Form):
    """One question: actor, privilege, resource and sub-resources."""

    actor = forms.CharField(
        label="Who",
        required=False,
        max_length=512,
        help_text="User name or URN. If empty: yourself.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    privilege = forms.CharField(
        label="May use",
        max_length=200,
        help_text="The name of a privilege, such as EDIT_ENTITY_TAGS.",
        error_messages={"required": "Name a privilege."},
        widget=forms.TextInput(attrs={"list": "privileges", "autocomplete": "off"}),
    )
    resource = forms.CharField(
        label="On",
        required=False,
        max_length=512,
        help_text="URN or name of an entity. If empty: the platform itself.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    sub_resources = forms.CharField(
        label="Touching",
        required=False,
        max_length=20_000,
        help_text="URNs of the tags that the change adds or removes, one a line.",
        widget=forms.Textarea(attrs={"rows": 2}),
    )

    def clean_actor(self) -> str:
        """Return the URN of a user, empty for the caller; a plain name is taken as a user name."""
        urn = user_urn(self.cleaned_data["actor"])
        if urn and not urn.startswith(USER_PREFIX):
            raise forms.ValidationError("Ask about a person: groups and roles do not act by themselves.")
        return urn

    def clean_sub_resources(self) -> tuple[str, ...]:
        """Return the distinct URNs of the lines; the error names the first five lines that are no URN."""
        lines = [line.strip() for line in self.cleaned_data["sub_resources"].splitlines() if line.strip()]
        if len(lines) > _MAX_SUBRESOURCES:
            raise forms.ValidationError(f"At most {_MAX_SUBRESOURCES} URNs, not {len(lines)}.")
        if invalid_lines := [line for line in lines if not line.startswith("urn:")]:
            sample = ", ".join(line[:80] for line in invalid_lines[:5])
            raise forms.ValidationError(f"These lines are no URNs: {sample}.")
        return tuple(dict.fromkeys(lines))

    @classmethod
    def from_query(cls, data: Any) -> "WhyForm":
        """Return the form of a request: bound once the query has `privilege`, even empty; otherwise prefilled."""
        names = ("actor", "resource", "sub_resources")
        return cls(data) if "privilege" in data else cls(initial={name: data.get(name, "") for name in names})


def user_urn(text: str) -> str:
    """Return the URN for a typed URN or user name, '' for an empty text."""
    text = text.strip()
    return text if not text or text.startswith("urn:") else f"{USER_PREFIX}{text}"
