from typing import Any

from django.db import migrations, models
from django.utils import timezone


def mark_alerted(apps: Any, _: Any) -> None:
    """Mark what was there before there were alerts: nobody wants an e-mail about it."""
    now = timezone.now()
    apps.get_model("catalog", "Finding").objects.filter(severity="CRITICAL").update(alerted_at=now)
    apps.get_model("catalog", "Report").objects.exclude(finished_at=None).update(alerted_at=now)


class Migration(migrations.Migration):
    dependencies = [
        ("catalog", "0013_assertions_as_code"),
    ]

    operations = [
        migrations.AddField(
            model_name="finding",
            name="alerted_at",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.AddField(
            model_name="report",
            name="alerted_at",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.AddField(
            model_name="report",
            name="late_alerted_at",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.RunPython(mark_alerted, migrations.RunPython.noop),
    ]
