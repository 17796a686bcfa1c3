"""Marks the words of search that only the e-mail address of a user has, so that they find it for few people only."""

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from policies.models.words import split_words

_CHUNK = 1000


def mark_addresses(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Mark the words of every user who has an address."""
    alias = schema_editor.connection.alias
    users = apps.get_model("policies", "User").objects.using(alias).exclude(email="").order_by("pk")
    indexed = apps.get_model("policies", "NameWord").objects.using(alias)
    last = 0
    while some := list(users.filter(pk__gt=last).only("pk", "username", "display_name")[:_CHUNK]):
        names = {user.pk: set(split_words(f"{user.display_name} {user.username}")) for user in some}
        rows = indexed.filter(user__gte=some[0].pk, user__lte=some[-1].pk).values_list("pk", "user", "word")
        marked = [pk for pk, user, word in rows if user in names and word not in names[user]]
        for start in range(0, len(marked), _CHUNK):
            indexed.filter(pk__in=marked[start : start + _CHUNK]).update(is_address=True)
        last = some[-1].pk


class Migration(migrations.Migration):
    """Adds the column and fills it."""

    dependencies = [("policies", "0013_change_sets")]

    operations = [
        migrations.AddField(
            model_name="nameword",
            name="is_address",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.RunPython(mark_addresses, migrations.RunPython.noop),
    ]
