"""Policies as written, and the facets by which lists filter them."""

from typing import Any

from django.db import models
from django.db.models import Q
from django.utils import timezone

from policies.engine.families.validity import UNLIMITED, Phase, Validity
from policies.models.fields import BytewiseCharField, JsonTextField, UrnField
from policies.models.managed import ManagedRow
from policies.models.people import MAX_NAME_LENGTH

POLICY_PREFIX = "urn:li:dataHubPolicy:"


def describe_validity(validity: Validity) -> dict[str, Any]:
    """Return a validity that stands beside a document, for the change log."""
    instants = {"valid_from": validity.begins, "valid_until": validity.ends}
    return {name: None if instant is None else instant.isoformat() for name, instant in instants.items()}


class Policy(ManagedRow):
    """A named document in the published JSON of its family.

    `document` is authoritative; `name`, `description`, `type` and `state` of a DataHub policy are derived from it. A
    Datazone document has neither description nor state, so they are columns only. `version` counts the edits of this
    policy from 1. A system policy cannot be deleted. The text of a policy that is not editable cannot be changed; its
    state can, unless it is a system policy. Outside of its validity, that is in another phase than CURRENT, a policy
    counts as little as an inactive one; the validity of a DataHub policy is derived from its document.
    """

    class Family(models.TextChoices):
        """The family whose format the document has."""

        DATAHUB = "datahub", "DataHub"
        DATAZONE = "datazone", "Datazone"

    class Type(models.TextChoices):
        """The type of a DataHub policy; a Datazone policy has none."""

        PLATFORM = "PLATFORM"
        METADATA = "METADATA"

    class State(models.TextChoices):
        """Whether the policy takes part in decisions: only ACTIVE ones do."""

        ACTIVE = "ACTIVE"
        INACTIVE = "INACTIVE"
        DRAFT = "DRAFT"

    urn = UrnField(unique=True, editable=False)
    family = models.CharField(max_length=16, choices=Family)
    name = models.CharField(max_length=MAX_NAME_LENGTH)
    description = models.TextField(blank=True)
    type = models.CharField(max_length=16, choices=Type, blank=True)
    state = models.CharField(max_length=16, choices=State, default=State.ACTIVE)
    is_editable = models.BooleanField(default=True)
    is_system = models.BooleanField(default=False)
    valid_from = models.DateTimeField(null=True, blank=True)
    valid_until = models.DateTimeField(null=True, blank=True)
    phase = models.CharField(
        max_length=8,
        choices=[(phase.value, phase.value.capitalize()) for phase in Phase],
        default=Phase.CURRENT.value,
        db_default=Phase.CURRENT.value,
        editable=False,
    )
    document = JsonTextField()
    version = models.PositiveIntegerField(default=1)
    extra = JsonTextField(default=dict, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    created_by = UrnField(editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_by = UrnField(editable=False)

    class Meta(ManagedRow.Meta):
        abstract = False
        ordering = ("urn",)
        verbose_name_plural = "policies"
        constraints = [
            models.CheckConstraint(
                condition=Q(family="datahub", type__in=["PLATFORM", "METADATA"]) | Q(family="datazone", type=""),
                name="policy_type_fits_family",
            ),
            models.CheckConstraint(condition=Q(state__in=["ACTIVE", "INACTIVE", "DRAFT"]), name="policy_state_known"),
            models.CheckConstraint(condition=Q(version__gte=1), name="policy_version_from_one"),
            models.CheckConstraint(condition=Q(phase__in=[phase.value for phase in Phase]), name="policy_phase_known"),
        ]
        indexes = [
            models.Index(fields=["state", "family"], name="policy_state_family"),
            # Few policies begin or end.
            models.Index(fields=["valid_from"], condition=Q(phase="PENDING"), name="policy_begins"),
            models.Index(
                fields=["valid_until"], condition=Q(valid_until__isnull=False) & ~Q(phase="ENDED"), name="policy_ends"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def validity(self) -> Validity:
        """The time in which it counts."""
        return Validity(self.valid_from, self.valid_until)

    def build_snapshot(self) -> dict[str, Any]:
        """Return its state for the change log: document, state, description, and a validity the document lacks."""
        snapshot: dict[str, Any] = {"document": self.document, "state": self.state, "description": self.description}
        if self.family != Policy.Family.DATAHUB and self.validity != UNLIMITED:
            snapshot |= describe_validity(self.validity)
        return snapshot

    @property
    def is_state_fixed(self) -> bool:
        """Whether the policy cannot be activated or deactivated."""
        return self.is_system and not self.is_editable


class PolicyEffect(models.TextChoices):
    """The effect of a policy on its actors; one of Datazone may have both, in different statements."""

    ALLOW = "ALLOW"
    DENY = "DENY"


class PolicyFacet(models.Model):
    """A value named in a policy, so that lists can filter without reading documents. Derived; written with the policy.

    PRIVILEGE: a privilege as the document spells it. ACTOR: a URN, or one of the engine's tokens for everyone, any
    group and owners. RESOURCE: a value of a criterion, a type or a pattern. EFFECT: ALLOW or DENY, each where a
    statement has it. EXCEPTION: the URN of a user, group or role that the policy never reaches.
    """

    class Field(models.TextChoices):
        """The part of the policy that names the value."""

        PRIVILEGE = "PRIVILEGE"
        ACTOR = "ACTOR"
        RESOURCE = "RESOURCE"
        EFFECT = "EFFECT"
        EXCEPTION = "EXCEPTION"

    policy = models.ForeignKey(Policy, on_delete=models.CASCADE, related_name="facets")
    field = models.CharField(max_length=16, choices=Field)
    value = BytewiseCharField(max_length=1024)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["policy", "field", "value"], name="policy_facet_once"),
            models.CheckConstraint(
                condition=Q(field__in=["PRIVILEGE", "ACTOR", "RESOURCE", "EFFECT", "EXCEPTION"]),
                name="policy_facet_field_known",
            ),
        ]
        indexes = [models.Index(fields=["field", "value", "policy"], name="policy_facet_lookup")]

    def __str__(self) -> str:
        return f"{self.field} {self.value}"
