"""Forms of the questions beside Why: the same fields, fewer of them."""

from typing import Any, ClassVar

from django import forms

from policies.http.pages.filter_forms import WhyForm


class _ExploreForm(WhyForm):
    """A question is asked once one of these came with the request, even empty; else the form is prefilled."""

    TRIGGER_FIELDS: ClassVar[tuple[str, ...]] = ("privilege",)

    @classmethod
    def from_query(cls, data: Any) -> "_ExploreForm":
        """Return the form of a request."""
        is_question = any(name in data for name in cls.TRIGGER_FIELDS)
        return cls(data) if is_question else cls(initial={name: data.get(name, "") for name in cls.base_fields})


class ActorPrivilegesForm(_ExploreForm):
    """What can somebody do with something?"""

    TRIGGER_FIELDS = ("actor", "resource")

    privilege = None  # type: ignore[assignment]  # Django's way to leave an inherited field out
    sub_resources = None  # type: ignore[assignment]


class AllowedActorsForm(_ExploreForm):
    """Who can do something with something?"""

    actor = None  # type: ignore[assignment]
    sub_resources = None  # type: ignore[assignment]


class AllowedEntitiesForm(_ExploreForm):
    """What can somebody use a privilege on?"""

    resource = None  # type: ignore[assignment]
    sub_resources = None  # type: ignore[assignment]
    type = forms.CharField(
        label="Type",
        required=False,
        max_length=64,
        help_text="Such as dataset. If empty: any.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    q = forms.CharField(
        label="Name",
        required=False,
        max_length=200,
        help_text="Words of the name, or a URN. If empty: any.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
