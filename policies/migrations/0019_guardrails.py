"""Adds the table of guardrails."""

import django.utils.timezone
from django.db import migrations, models

import policies.models.fields


class Migration(migrations.Migration):
    """Adds the table."""

    dependencies = [
        ("policies", "0018_times_of_role_assignments"),
    ]

    operations = [
        migrations.CreateModel(
            name="Guardrail",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("urn", policies.models.fields.UrnField(editable=False, unique=True)),
                ("name", models.CharField(max_length=255)),
                ("description", models.TextField(blank=True)),
                (
                    "mode",
                    models.CharField(
                        choices=[("enforce", "Enforce"), ("warn", "Warn"), ("off", "Off")],
                        default="enforce",
                        max_length=8,
                    ),
                ),
                ("rule", policies.models.fields.JsonTextField()),
                ("version", models.PositiveIntegerField(default=1)),
                (
                    "status",
                    models.CharField(
                        choices=[("holds", "Holds"), ("broken", "Broken"), ("unknown", "Unknown")],
                        default="unknown",
                        max_length=8,
                    ),
                ),
                ("breaches", policies.models.fields.JsonTextField(blank=True, default=list)),
                ("judged_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("created_by", policies.models.fields.UrnField(editable=False)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_by", policies.models.fields.UrnField(editable=False)),
            ],
            options={
                "ordering": ("urn",),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("mode__in", ["enforce", "warn", "off"])), name="guardrail_mode_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["holds", "broken", "unknown"])),
                        name="guardrail_status_known",
                    ),
                    models.CheckConstraint(condition=models.Q(("version__gte", 1)), name="guardrail_version_from_one"),
                ],
            },
        ),
    ]
