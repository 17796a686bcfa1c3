from typing import Any

from django.db import migrations, models

import policies.models.fields


def remove_triggers(_: Any, schema_editor: Any) -> None:
    """Remove the triggers, which are created after all migrations, before the table that they write."""
    from catalog.models import change_triggers

    change_triggers.remove(schema_editor.connection)


class Migration(migrations.Migration):
    dependencies = [
        ("catalog", "0014_alerts"),
    ]

    operations = [
        migrations.CreateModel(
            name="ChangeMarker",
            fields=[
                ("entity", models.BigIntegerField(primary_key=True, serialize=False)),
                ("marker", models.BigIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name="SnapshotBase",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", policies.models.fields.BytewiseCharField(max_length=64, unique=True)),
                ("token", models.UUIDField()),
            ],
        ),
        migrations.RunPython(migrations.RunPython.noop, remove_triggers),
    ]
