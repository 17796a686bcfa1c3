"""Indexes the words of the names of users and groups that were stored before there was a search by words."""

from collections.abc import Iterator

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from policies.models.words import split_words

_KEPT = 24
_BATCH = 5000


def index(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Store the words of every user and group."""
    alias = schema_editor.connection.alias
    model = apps.get_model("policies", "NameWord")

    def rows() -> Iterator[object]:
        users = apps.get_model("policies", "User").objects.using(alias)
        for pk, *texts in users.values_list("pk", "display_name", "username", "email").iterator():
            yield from (model(user_id=pk, word=word) for word in split_words(" ".join(texts))[:_KEPT])
        groups = apps.get_model("policies", "GroupProfile").objects.using(alias)
        for pk, *texts in groups.values_list("pk", "name", "identifier").iterator():
            yield from (model(group_id=pk, word=word) for word in split_words(" ".join(texts))[:_KEPT])

    model.objects.using(alias).bulk_create(rows(), batch_size=_BATCH)


class Migration(migrations.Migration):
    """Data only; going back leaves the rows to the table's own removal."""

    dependencies = [("policies", "0003_people_links")]

    operations = [migrations.RunPython(index, migrations.RunPython.noop)]
