"""Apart from the change of the tables, which PostgreSQL cannot make after rows of the same transaction."""

from django.db import migrations

_SUBJECTS = ("policy", "role", "actor", "person", "entity")
_BATCH = 2_000


def fill_in(apps, _schema_editor):
    """Give stored findings their subject, and what was decided about them a place in their trail."""
    finding, event = apps.get_model("catalog", "Finding"), apps.get_model("catalog", "FindingEvent")
    last = 0
    while rows := list(finding.objects.filter(pk__gt=last).order_by("pk")[:_BATCH]):
        last = rows[-1].pk
        for row in rows:
            named = (row.values.get(name) for name in _SUBJECTS)
            row.subject = next((one for one in named if isinstance(one, str) and one.startswith("urn:li:")), "")
        finding.objects.bulk_update(rows, ["subject"])
        event.objects.bulk_create(
            event(
                finding=row,
                at=row.decided_at,
                by=row.decided_by,
                state=row.state,
                assignee=row.assignee,
                note=row.note if row.decided_by else "",
            )
            for row in rows
            if row.decided_at is not None
        )


class Migration(migrations.Migration):
    dependencies = [
        ("catalog", "0009_finding_trail"),
    ]

    operations = [
        migrations.RunPython(fill_in, migrations.RunPython.noop, elidable=True),
    ]
