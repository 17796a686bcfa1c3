"""The index of facets by value has their types, too: owners of some types are read from it alone."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Makes the index again, with one column more."""

    dependencies = [("catalog", "0010_finding_subjects")]

    operations = [
        migrations.RemoveIndex(model_name="facet", name="facet_by_value"),
        migrations.AddIndex(
            model_name="facet",
            index=models.Index(fields=["field", "value", "entity", "type"], name="facet_by_value"),
        ),
    ]
