"""When somebody was last on the home page."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("policies", "0028_evaluations_and_request_tasks"),
    ]

    operations = [
        migrations.CreateModel(
            name="Visit",
            fields=[
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="visit",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("seen_at", models.DateTimeField()),
                ("previous_at", models.DateTimeField(null=True)),
            ],
        ),
    ]
