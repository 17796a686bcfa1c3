"""Names, in the log, those who hold groups and roles by a document with fields that releases of before ignored.

Such a field may say until when the membership was meant to last. Nothing is taken away here: that could lock out the
people of an installation. Whoever is named should be looked at.
"""

import logging

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.models import Q

log = logging.getLogger(__name__)

_MEMBERSHIPS = ("groupMembership", "nativeGroupMembership", "roleMembership")


def name_holders(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Write a warning for each membership document of a user or group that holds more than its list."""
    is_named = Q()
    for aspect in _MEMBERSHIPS:
        is_named |= Q(extra__contains=f'"{aspect}":')
    for model in ("User", "GroupProfile"):
        rows = apps.get_model("policies", model).objects.using(schema_editor.connection.alias).filter(is_named)
        for urn, extra in rows.order_by("urn").values_list("urn", "extra").iterator(chunk_size=500):
            for aspect in _MEMBERSHIPS:
                if fields := sorted(extra.get(aspect, {}).get("kept", {})):
                    more = {"urn": urn, "aspect": aspect, "fields": fields}
                    log.warning("membership_with_unknown_fields", extra=more)


class Migration(migrations.Migration):
    """Reads only."""

    dependencies = [("policies", "0010_family_labels")]

    operations = [migrations.RunPython(name_holders, migrations.RunPython.noop)]
