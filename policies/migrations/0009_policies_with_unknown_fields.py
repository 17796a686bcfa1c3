"""Policies with fields that nobody evaluates are put out of force: such a field may be one that narrows the policy.

Releases of before stored an unknown field at the top of a DataHub policy and ignored it. From now on such a policy
grants nothing (`policies.engine.families.datahub_fields`); here its state says so, too, and its history records it.
"""

from typing import Any

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.models import F
from django.utils import timezone

#: The fields of the document that this release evaluates. Older releases refused unknown ones further in.
_KNOWN = frozenset(
    {
        "displayName",
        "description",
        "type",
        "state",
        "resources",
        "privileges",
        "actors",
        "editable",
        "lastUpdatedTimestamp",
    }
)
_BY = "urn:li:corpuser:__datahub_system"


def deactivate(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Set the state of every such policy to INACTIVE, as one version of all policies."""
    alias = schema_editor.connection.alias
    policies = apps.get_model("policies", "Policy").objects.using(alias)
    found = [
        policy
        for policy in policies.filter(family="datahub").exclude(state="INACTIVE").iterator(chunk_size=500)
        if not policy.document.keys() <= _KNOWN
    ]
    if not found:
        return
    row = apps.get_model("policies", "PolicyVersion").objects.using(alias)
    row.update(version=F("version") + 1, change_seq=F("change_seq") + 1)
    policy_version = row.get().version
    events = apps.get_model("policies", "PolicyEvent").objects.using(alias)
    for policy in found:
        before = _snapshot(policy)
        policy.document = {**policy.document, "state": "INACTIVE"}
        policy.state, policy.updated_at, policy.updated_by = "INACTIVE", timezone.now(), _BY
        policy.version += 1
        policy.save(update_fields=["document", "state", "updated_at", "updated_by", "version"])
        events.create(
            policy_urn=policy.urn,
            name=policy.name,
            family=policy.family,
            version=policy.version,
            policy_version=policy_version,
            verb="DEACTIVATED",
            by=_BY,
            door="migration",
            before=before,
            after=_snapshot(policy),
        )


def _snapshot(policy: Any) -> dict[str, Any]:
    return {"document": policy.document, "state": policy.state, "description": policy.description}


class Migration(migrations.Migration):
    """Data only; going back leaves the policies out of force."""

    dependencies = [("policies", "0008_provisioning")]

    operations = [migrations.RunPython(deactivate, migrations.RunPython.noop)]
