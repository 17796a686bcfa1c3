"""What beat repeats."""

from django.conf import settings

from authzsite.celery import app


def test_every_task_of_the_schedule_is_there_and_runs_out_before_the_next_one() -> None:
    app.loader.import_default_modules()
    for name, entry in settings.CELERY_BEAT_SCHEDULE.items():
        assert entry["task"] in app.tasks, name
        assert entry["options"]["expires"] > 0
