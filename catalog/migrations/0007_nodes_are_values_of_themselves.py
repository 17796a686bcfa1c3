"""Puts what domains, terms, term groups and platform instances say of their own field where no policy tests it.

A node is a value of itself and its ancestors and nothing else (rules a.4); `catalog.aspects.projection` says the same of
what is written from now on. Without this, policies would go on matching more than they should until `rebuild_facets`.
"""

from django.db import migrations
from django.db.models import F

#: Type of the node, its own field, and the field that holds what else it says.
NODES = (
    ("dataPlatformInstance", "DATA_PLATFORM_INSTANCE", "NODE_INSTANCE"),
    ("domain", "DOMAIN", "NODE_DOMAIN"),
    ("glossaryNode", "GLOSSARY", "NODE_GLOSSARY"),
    ("glossaryTerm", "GLOSSARY", "NODE_GLOSSARY"),
)


def move(apps, before, after):
    for kind, own, beside in NODES:
        fields = {"own": own, "beside": beside}
        rows = apps.get_model("catalog", "Facet").objects.filter(entity__type=kind, field=fields[before])
        rows.exclude(value=F("entity__urn")).update(field=fields[after])


def forwards(apps, _schema_editor):
    move(apps, "own", "beside")


def backwards(apps, _schema_editor):
    move(apps, "beside", "own")


class Migration(migrations.Migration):
    dependencies = [("catalog", "0006_assertion_text")]

    operations = [migrations.RunPython(forwards, backwards)]
