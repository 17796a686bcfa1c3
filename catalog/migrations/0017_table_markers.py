from typing import Any

from django.db import migrations, models

import policies.models.fields


def remove_triggers(_: Any, schema_editor: Any) -> None:
    """Remove the triggers, which are created after all migrations, before the table that they write."""
    from catalog.models import change_triggers

    change_triggers.remove(schema_editor.connection)


class Migration(migrations.Migration):
    dependencies = [
        ("catalog", "0016_unpublished_tables"),
    ]

    operations = [
        migrations.CreateModel(
            name="TableMarker",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", policies.models.fields.BytewiseCharField(max_length=64)),
                ("marker", models.BigIntegerField()),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("name", "marker"), name="table_marker_once")],
            },
        ),
        migrations.AddField(
            model_name="snapshotbase",
            name="oldest_marker",
            field=models.BigIntegerField(default=0),
        ),
        migrations.RunPython(migrations.RunPython.noop, remove_triggers),
    ]
