"""Decisions on requests keep the ids of the ways that were agreed to."""

from django.db import migrations

import policies.models.fields


class Migration(migrations.Migration):
    """Adds the column; decisions before it agreed to the way that their item has."""

    dependencies = [("policies", "0030_notice_opened")]

    operations = [
        migrations.AddField(
            model_name="requestdecision", name="ways", field=policies.models.fields.JsonTextField(default=dict)
        )
    ]
