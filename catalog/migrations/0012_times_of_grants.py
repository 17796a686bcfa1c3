"""Adds the times of grants, and grants that have not begun."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import policies.models.fields


class Migration(migrations.Migration):
    """Adds the columns, their indexes and the table."""

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        ("catalog", "0011_facet_types_in_index"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="ScheduledGrant",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("valid_from", models.DateTimeField(db_index=True, editable=False)),
                ("valid_until", models.DateTimeField(blank=True, editable=False, null=True)),
                ("reason", models.TextField(blank=True, editable=False)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("created_by", policies.models.fields.UrnField(editable=False)),
                ("target", policies.models.fields.UrnField(db_index=True)),
                ("within", policies.models.fields.UrnField(db_index=True)),
                ("privilege", policies.models.fields.BytewiseCharField(max_length=16)),
            ],
        ),
        migrations.AddField(
            model_name="entitygroupgrant",
            name="valid_from",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.AddField(
            model_name="entitygroupgrant",
            name="valid_until",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.AddField(
            model_name="entityusergrant",
            name="valid_from",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.AddField(
            model_name="entityusergrant",
            name="valid_until",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.AddField(
            model_name="wildcardgrant",
            name="valid_from",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.AddField(
            model_name="wildcardgrant",
            name="valid_until",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.AddIndex(
            model_name="entitygroupgrant",
            index=models.Index(
                condition=models.Q(("valid_until__isnull", False)), fields=["valid_until"], name="group_grant_ends"
            ),
        ),
        migrations.AddIndex(
            model_name="entityusergrant",
            index=models.Index(
                condition=models.Q(("valid_until__isnull", False)), fields=["valid_until"], name="user_grant_ends"
            ),
        ),
        migrations.AddIndex(
            model_name="wildcardgrant",
            index=models.Index(
                condition=models.Q(("valid_until__isnull", False)), fields=["valid_until"], name="wildcard_grant_ends"
            ),
        ),
        migrations.AddField(
            model_name="scheduledgrant",
            name="group",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="scheduled_grants",
                to="auth.group",
            ),
        ),
        migrations.AddField(
            model_name="scheduledgrant",
            name="user",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="scheduled_grants",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddConstraint(
            model_name="scheduledgrant",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("group__isnull", False), ("user__isnull", True)),
                    models.Q(("group__isnull", True), ("user__isnull", False)),
                    _connector="OR",
                ),
                name="scheduled_grant_has_one_holder",
            ),
        ),
        migrations.AddConstraint(
            model_name="scheduledgrant",
            constraint=models.UniqueConstraint(
                condition=models.Q(("user__isnull", False)),
                fields=("user", "target", "privilege"),
                name="scheduled_grant_user_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="scheduledgrant",
            constraint=models.UniqueConstraint(
                condition=models.Q(("group__isnull", False)),
                fields=("group", "target", "privilege"),
                name="scheduled_grant_group_once",
            ),
        ),
    ]
