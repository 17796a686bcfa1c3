"""Adds the times of memberships, and memberships that have not begun."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import policies.models.fields


class Migration(migrations.Migration):
    """Adds the columns and the table."""

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        ("policies", "0016_validity_of_policies"),
    ]

    operations = [
        migrations.CreateModel(
            name="ScheduledMembership",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("valid_from", models.DateTimeField(db_index=True, editable=False)),
                ("valid_until", models.DateTimeField(blank=True, editable=False, null=True)),
                ("reason", models.TextField(blank=True, editable=False)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("created_by", policies.models.fields.UrnField(editable=False)),
            ],
        ),
        migrations.AddField(
            model_name="membership",
            name="valid_from",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.AddField(
            model_name="membership",
            name="valid_until",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.AddIndex(
            model_name="membership",
            index=models.Index(
                condition=models.Q(("valid_until__isnull", False)), fields=["valid_until"], name="membership_ends"
            ),
        ),
        migrations.AddConstraint(
            model_name="membership",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("is_native", True),
                    models.Q(("valid_from__isnull", True), ("valid_until__isnull", True)),
                    _connector="OR",
                ),
                name="membership_with_times_is_native",
            ),
        ),
        migrations.AddField(
            model_name="scheduledmembership",
            name="group",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="scheduled_memberships", to="auth.group"
            ),
        ),
        migrations.AddField(
            model_name="scheduledmembership",
            name="user",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="scheduled_memberships",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddConstraint(
            model_name="scheduledmembership",
            constraint=models.UniqueConstraint(fields=("user", "group"), name="scheduled_membership_once"),
        ),
    ]
