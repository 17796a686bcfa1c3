"""Makes the one row that orders all changes, so that no code has to wonder whether it is there."""

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def make_row(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Store version 1."""
    rows = apps.get_model("policies", "PolicyVersion").objects.using(schema_editor.connection.alias)
    rows.get_or_create(pk=1)


class Migration(migrations.Migration):
    """Data only; going back leaves the row to the table's own removal."""

    dependencies = [("policies", "0001_initial")]

    operations = [migrations.RunPython(make_row, migrations.RunPython.noop)]
