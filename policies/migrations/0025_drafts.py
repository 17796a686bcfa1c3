"""What people typed into forms and have not saved yet."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import policies.models.fields


class Migration(migrations.Migration):
    dependencies = [
        ("policies", "0024_deleted_names"),
    ]

    operations = [
        migrations.CreateModel(
            name="Draft",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ("path", models.TextField()),
                ("fields", models.TextField()),
                ("outcome", policies.models.fields.JsonTextField(default=dict)),
                ("page", models.UUIDField()),
                ("changed_at", models.DateTimeField(db_index=True, default=django.utils.timezone.now)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="drafts", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
        ),
    ]
