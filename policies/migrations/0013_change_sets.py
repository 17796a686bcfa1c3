"""Puts the number of a write on one row, its change set, and no longer on each of its events.

No event is rewritten on PostgreSQL: the change set of what is there has the number as its key, too.
"""

import django.db.models.deletion
from django.apps.registry import Apps
from django.core.management.color import no_style
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def create_sets(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Create the change set of every number that an event has."""
    connection, change_set = schema_editor.connection, apps.get_model("policies", "ChangeSet")
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO policies_changeset (id, change_seq) "
            "SELECT DISTINCT change_seq, change_seq FROM policies_changeevent"
        )
        for statement in connection.ops.sequence_reset_sql(no_style(), [change_set]):
            cursor.execute(statement)


class Migration(migrations.Migration):
    """Locks the events while it looks at each of them once."""

    dependencies = [("policies", "0012_folded_usernames")]

    operations = [
        migrations.CreateModel(
            name="ChangeSet",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("change_seq", models.PositiveBigIntegerField(null=True, unique=True)),
            ],
        ),
        migrations.RunPython(create_sets),
        migrations.RenameField(model_name="changeevent", old_name="change_seq", new_name="change_set"),
        migrations.AlterField(
            model_name="changeevent",
            name="change_set",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="events", to="policies.changeset"
            ),
        ),
    ]
