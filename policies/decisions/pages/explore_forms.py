"""Forms of the inverse questions: those of Why with fewer fields."""

from typing import Any, ClassVar

from django import forms

from policies.http.pages.filter_forms import WhyForm


class _ExploreForm(WhyForm):
    """A form that is bound once any of TRIGGER_FIELDS is in the query, even empty; otherwise it is prefilled."""

    TRIGGER_FIELDS: ClassVar[tuple[str, ...]] = ("privilege",)

    @classmethod
    def from_query(cls, data: Any) -> "_ExploreForm":
        """Return the form of a request."""
        is_question = any(name in data for name in cls.TRIGGER_FIELDS)
        return cls(data) if is_question else cls(initial={name: data.get(name, "") for name in cls.base_fields})


class ActorPrivilegesForm(_ExploreForm):
    """Form of the privileges of an actor on a resource."""

    TRIGGER_FIELDS = ("actor", "resource")

    privilege = None  # type: ignore[assignment]  # removes an inherited field
    sub_resources = None  # type: ignore[assignment]


class AllowedActorsForm(_ExploreForm):
    """Form of the actors that have a privilege on a resource."""

    actor = None  # type: ignore[assignment]
    sub_resources = None  # type: ignore[assignment]


class AllowedEntitiesForm(_ExploreForm):
    """Form of the entities on which an actor has a privilege."""

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
