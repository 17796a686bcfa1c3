"""Adds the validity of policies and the time at which something begins or ends next; events say so."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Adds the columns, their indexes and the verbs."""

    dependencies = [
        ("policies", "0015_effects_of_policies"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="changeevent",
            name="change_event_verb_known",
        ),
        migrations.RemoveConstraint(
            model_name="policyevent",
            name="policy_event_verb_known",
        ),
        migrations.AddField(
            model_name="policy",
            name="phase",
            field=models.CharField(
                choices=[("PENDING", "Pending"), ("CURRENT", "Current"), ("ENDED", "Ended")],
                db_default="CURRENT",
                default="CURRENT",
                editable=False,
                max_length=8,
            ),
        ),
        migrations.AddField(
            model_name="policy",
            name="valid_from",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="policy",
            name="valid_until",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="policyversion",
            name="next_boundary",
            field=models.PositiveBigIntegerField(null=True),
        ),
        migrations.AlterField(
            model_name="changeevent",
            name="verb",
            field=models.CharField(
                choices=[
                    ("CREATED", "Created"),
                    ("UPDATED", "Updated"),
                    ("DELETED", "Deleted"),
                    ("ACTIVATED", "Activated"),
                    ("DEACTIVATED", "Deactivated"),
                    ("RESTORED", "Restored"),
                    ("BEGAN", "Began"),
                    ("ENDED", "Ended"),
                    ("SUSPENDED", "Suspended"),
                    ("MEMBERS_CHANGED", "Members Changed"),
                    ("ROLES_CHANGED", "Roles Changed"),
                    ("PASSWORD_SET", "Password Set"),
                    ("TOKEN_CREATED", "Token Created"),
                    ("TOKEN_REVOKED", "Token Revoked"),
                    ("INVITE_CREATED", "Invite Created"),
                    ("INVITE_REVOKED", "Invite Revoked"),
                    ("RESET_CREATED", "Reset Created"),
                ],
                max_length=16,
            ),
        ),
        migrations.AlterField(
            model_name="policyevent",
            name="verb",
            field=models.CharField(
                choices=[
                    ("CREATED", "Created"),
                    ("UPDATED", "Updated"),
                    ("DELETED", "Deleted"),
                    ("ACTIVATED", "Activated"),
                    ("DEACTIVATED", "Deactivated"),
                    ("RESTORED", "Restored"),
                    ("BEGAN", "Began"),
                    ("ENDED", "Ended"),
                    ("SUSPENDED", "Suspended"),
                    ("MEMBERS_CHANGED", "Members Changed"),
                    ("ROLES_CHANGED", "Roles Changed"),
                    ("PASSWORD_SET", "Password Set"),
                    ("TOKEN_CREATED", "Token Created"),
                    ("TOKEN_REVOKED", "Token Revoked"),
                    ("INVITE_CREATED", "Invite Created"),
                    ("INVITE_REVOKED", "Invite Revoked"),
                    ("RESET_CREATED", "Reset Created"),
                ],
                max_length=16,
            ),
        ),
        migrations.AddIndex(
            model_name="policy",
            index=models.Index(condition=models.Q(("phase", "PENDING")), fields=["valid_from"], name="policy_begins"),
        ),
        migrations.AddIndex(
            model_name="policy",
            index=models.Index(
                condition=models.Q(("valid_until__isnull", False), models.Q(("phase", "ENDED"), _negated=True)),
                fields=["valid_until"],
                name="policy_ends",
            ),
        ),
        migrations.AddConstraint(
            model_name="changeevent",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "verb__in",
                        [
                            "CREATED",
                            "UPDATED",
                            "DELETED",
                            "ACTIVATED",
                            "DEACTIVATED",
                            "RESTORED",
                            "BEGAN",
                            "ENDED",
                            "SUSPENDED",
                            "MEMBERS_CHANGED",
                            "ROLES_CHANGED",
                            "PASSWORD_SET",
                            "TOKEN_CREATED",
                            "TOKEN_REVOKED",
                            "INVITE_CREATED",
                            "INVITE_REVOKED",
                            "RESET_CREATED",
                        ],
                    )
                ),
                name="change_event_verb_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="policy",
            constraint=models.CheckConstraint(
                condition=models.Q(("phase__in", ["PENDING", "CURRENT", "ENDED"])), name="policy_phase_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="policyevent",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "verb__in",
                        [
                            "CREATED",
                            "UPDATED",
                            "DELETED",
                            "ACTIVATED",
                            "DEACTIVATED",
                            "RESTORED",
                            "BEGAN",
                            "ENDED",
                            "SUSPENDED",
                            "MEMBERS_CHANGED",
                            "ROLES_CHANGED",
                            "PASSWORD_SET",
                            "TOKEN_CREATED",
                            "TOKEN_REVOKED",
                            "INVITE_CREATED",
                            "INVITE_REVOKED",
                            "RESET_CREATED",
                        ],
                    )
                ),
                name="policy_event_verb_known",
            ),
        ),
    ]
