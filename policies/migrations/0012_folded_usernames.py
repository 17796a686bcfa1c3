"""Keeps the user names of all accounts as they look, so that no account is made that looks like another one.

Accounts that look alike already stay: nothing is unique about the column.
"""

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

import policies.models.lookalikes

_CHUNK = 1000


def fold_usernames(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Fill the column of every account."""
    users = apps.get_model("policies", "User").objects.using(schema_editor.connection.alias)
    rows = []
    for user in users.only("pk", "username").order_by("pk").iterator(chunk_size=_CHUNK):
        user.folded_username = policies.models.lookalikes.fold_name(user.username)
        rows.append(user)
        if len(rows) == _CHUNK:
            users.bulk_update(rows, ["folded_username"])
            rows = []
    users.bulk_update(rows, ["folded_username"])


class Migration(migrations.Migration):
    """Adds the column, fills it, and then makes its index."""

    dependencies = [("policies", "0011_memberships_with_unknown_fields")]

    operations = [
        migrations.AddField(
            model_name="user",
            name="folded_username",
            field=policies.models.lookalikes.FoldedNameField(source="username"),
        ),
        migrations.RunPython(fold_usernames, migrations.RunPython.noop),
        migrations.AddIndex(
            model_name="user",
            index=models.Index(fields=["folded_username"], name="user_looks"),
        ),
    ]
