"""What beat repeats."""

from authzsite.celery import app


def test_every_task_of_the_schedule_is_there_and_runs_out_before_the_next_one() -> None:
    app.loader.import_default_modules()
    assert app.conf.beat_schedule
    for name, entry in app.conf.beat_schedule.items():
        assert entry["task"] in app.tasks, name
        assert entry["options"]["expires"] > 0
