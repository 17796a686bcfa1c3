"""Adds the times of role assignments, and assignments that have not begun."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import policies.models.fields


class Migration(migrations.Migration):
    """Adds the columns and the table."""

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        ("policies", "0017_times_of_memberships"),
    ]

    operations = [
        migrations.CreateModel(
            name="ScheduledRoleAssignment",
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
            model_name="roleassignment",
            name="valid_from",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.AddField(
            model_name="roleassignment",
            name="valid_until",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.AddIndex(
            model_name="roleassignment",
            index=models.Index(
                condition=models.Q(("valid_until__isnull", False)), fields=["valid_until"], name="role_assignment_ends"
            ),
        ),
        migrations.AddField(
            model_name="scheduledroleassignment",
            name="group",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="scheduled_roles",
                to="auth.group",
            ),
        ),
        migrations.AddField(
            model_name="scheduledroleassignment",
            name="role",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="scheduled_assignments", to="policies.role"
            ),
        ),
        migrations.AddField(
            model_name="scheduledroleassignment",
            name="user",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="scheduled_roles",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddConstraint(
            model_name="scheduledroleassignment",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("group__isnull", False), ("user__isnull", True)),
                    models.Q(("group__isnull", True), ("user__isnull", False)),
                    _connector="OR",
                ),
                name="scheduled_role_has_one_holder",
            ),
        ),
        migrations.AddConstraint(
            model_name="scheduledroleassignment",
            constraint=models.UniqueConstraint(
                condition=models.Q(("user__isnull", False)), fields=("role", "user"), name="scheduled_role_user_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="scheduledroleassignment",
            constraint=models.UniqueConstraint(
                condition=models.Q(("group__isnull", False)), fields=("role", "group"), name="scheduled_role_group_once"
            ),
        ),
    ]
