"""Forms of the pages that grant privileges on CDAP entities."""

from collections.abc import Sequence
from typing import Any

from django import forms

from policies.engine.families import cdap
from policies.http.pages.times import OptionalTimesForm


class GrantForm(OptionalTimesForm):
    """The privileges to grant on a CDAP entity, and for which time; a picker next to it chooses the principals."""

    privileges = forms.MultipleChoiceField(
        label="Privileges",
        choices=[*((privilege, privilege) for privilege in cdap.PRIVILEGES), (cdap.ALL, "ALL: the four of them")],
        help_text="Each stands alone: ADMIN gives neither READ nor WRITE.",
        error_messages={"required": "Choose at least one."},
        widget=forms.CheckboxSelectMultiple,
    )


class PatternForm(GrantForm):
    """The privileges to grant on all entities of a kind with a common name prefix. `kinds` are (kind, plural label)."""

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
