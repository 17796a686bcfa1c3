"""What sources of people call users and groups, and what they say of them; who is stored already gets an id, too."""

import uuid

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.models.functions import Lower

import policies.models.fields

_BATCH = 5000


def identify(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Give every user and group an id of its own."""
    alias = schema_editor.connection.alias
    for name in ("User", "GroupProfile"):
        rows = apps.get_model("policies", name).objects.using(alias)
        while found := list(rows.filter(scim_id=None).only("pk")[:_BATCH]):
            for row in found:
                row.scim_id = uuid.uuid4()
            rows.bulk_update(found, ["scim_id"], batch_size=500)


def _external_id() -> policies.models.fields.BytewiseCharField:
    return policies.models.fields.BytewiseCharField(blank=True, db_index=True, editable=False, max_length=255)


class Migration(migrations.Migration):
    """Columns, then the ids, then that they are unique."""

    dependencies = [("policies", "0007_decision_log")]

    operations = [
        migrations.AddField("user", "external_id", _external_id()),
        migrations.AddField("groupprofile", "external_id", _external_id()),
        migrations.AddField(
            "user", "delivered", policies.models.fields.JsonTextField(blank=True, default=dict, editable=False)
        ),
        migrations.AddField("user", "scim_id", models.UUIDField(editable=False, null=True)),
        migrations.AddField("groupprofile", "scim_id", models.UUIDField(editable=False, null=True)),
        migrations.RunPython(identify, migrations.RunPython.noop),
        migrations.AlterField("user", "scim_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
        migrations.AlterField(
            "groupprofile", "scim_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)
        ),
        migrations.AddIndex("user", models.Index(Lower("username"), name="user_folded")),
    ]
