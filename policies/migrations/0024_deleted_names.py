"""Names of what was deleted, and the users, groups and roles that were deleted before this release.

They are found in the record of changes. A name that exists again is none of them: what it was given stays, since nobody
can tell any more what of it the former account had.
"""

import django.utils.timezone
from django.db import migrations, models

import policies.models.fields

#: Prefix of URNs, the table that has those that exist, and a member of the state that a deletion records. A document
#: about a user is recorded under the URN of the user, too.
KINDS = (
    ("urn:li:corpuser:", "User", "username"),
    ("urn:li:corpGroup:", "GroupProfile", "origin"),
    ("urn:li:dataHubRole:", "Role", "editable"),
)
BATCH_SIZE = 500


def mark_deleted(apps, _schema_editor):
    events = apps.get_model("policies", "ChangeEvent").objects
    tombstones = apps.get_model("policies", "Tombstone").objects
    for prefix, model, member in KINDS:
        existing = set(apps.get_model("policies", model).objects.order_by().values_list("urn", flat=True))
        deletions = events.filter(object_urn__startswith=prefix, verb="DELETED").order_by("id")
        rows = deletions.values_list("object_urn", "at", "before").iterator(chunk_size=BATCH_SIZE)
        deleted = {
            urn: at for urn, at, before in rows if urn not in existing and isinstance(before, dict) and member in before
        }
        tombstones.bulk_create(
            [tombstones.model(urn=urn, deleted_at=at) for urn, at in deleted.items()], batch_size=BATCH_SIZE
        )


class Migration(migrations.Migration):
    dependencies = [("policies", "0023_daily_uses")]

    operations = [
        migrations.CreateModel(
            name="Tombstone",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("urn", policies.models.fields.UrnField(unique=True)),
                ("deleted_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("is_pending", models.BooleanField(default=True)),
                ("is_revived", models.BooleanField(default=False)),
            ],
            options={
                "indexes": [
                    models.Index(condition=models.Q(("is_pending", True)), fields=["urn"], name="tombstone_pending")
                ],
            },
        ),
        migrations.RunPython(mark_deleted, migrations.RunPython.noop),
    ]
