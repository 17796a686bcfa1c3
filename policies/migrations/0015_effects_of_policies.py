"""Facets for the effects of policies, and for whom they except, so that lists can filter by them."""

from collections.abc import Iterator
from typing import Any

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

_CHUNK = 500
_EXCLUSIONS = {
    "excludedUsers": "urn:li:corpuser:",
    "excludedGroups": "urn:li:corpGroup:",
    "excludedRoles": "urn:li:dataHubRole:",
}
_MAX_VALUE_LENGTH = 1024


def derive_facets(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Store the facets of every policy; earlier releases did not read these fields, so no document was checked."""
    alias = schema_editor.connection.alias
    facet_model = apps.get_model("policies", "PolicyFacet")
    rows = apps.get_model("policies", "Policy").objects.using(alias).only("pk", "family", "document")
    facets = (
        facet_model(policy_id=policy.pk, field=field, value=value[:_MAX_VALUE_LENGTH])
        for policy in rows.order_by("pk").iterator(chunk_size=_CHUNK)
        for field, value in sorted(set(_list_facets(policy.family, policy.document)))
    )
    facet_model.objects.using(alias).bulk_create(facets, batch_size=_CHUNK)


def _list_facets(family: str, document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if family == "datazone":
        yield from (("EFFECT", str(statement["effect"]).upper()) for statement in document["statements"])
        return
    yield "EFFECT", "DENY" if document.get("effect") == "DENY" else "ALLOW"
    actors = document.get("actors")
    for key, prefix in _EXCLUSIONS.items():
        urns = actors.get(key) if isinstance(actors, dict) else None
        for urn in urns if isinstance(urns, list) else ():
            if isinstance(urn, str) and urn.startswith(prefix):
                yield "EXCEPTION", urn


class Migration(migrations.Migration):
    """Allows the facets and stores them."""

    dependencies = [("policies", "0014_words_of_addresses")]

    operations = [
        migrations.RemoveConstraint(model_name="policyfacet", name="policy_facet_field_known"),
        migrations.AlterField(
            model_name="policyfacet",
            name="field",
            field=models.CharField(
                choices=[
                    ("PRIVILEGE", "Privilege"),
                    ("ACTOR", "Actor"),
                    ("RESOURCE", "Resource"),
                    ("EFFECT", "Effect"),
                    ("EXCEPTION", "Exception"),
                ],
                max_length=16,
            ),
        ),
        migrations.AddConstraint(
            model_name="policyfacet",
            constraint=models.CheckConstraint(
                condition=models.Q(("field__in", ["PRIVILEGE", "ACTOR", "RESOURCE", "EFFECT", "EXCEPTION"])),
                name="policy_facet_field_known",
            ),
        ),
        migrations.RunPython(derive_facets, migrations.RunPython.noop),
    ]
