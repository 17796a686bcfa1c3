"""`manage.py prepare_spark`: make the archive of Java's classes, with which Spark starts sooner."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from catalog.reports.run import preparation


class Command(BaseCommand):
    """Make the archive now; without it a worker does so when it has run its first report."""

    help = (
        "Make the archive of Java's classes in SPARK_CLASSES_DIR, with which Spark starts sooner. Takes a minute. "
        "Nothing is done if the archive for this Java and this Spark is there."
    )

    def handle(self, *_args: Any, **_options: Any) -> None:
        """Print what became of it. Raises CommandError."""
        try:
            self.stdout.write(preparation.make_archive())
        except preparation.ArchiveFailed as error:
            raise CommandError(str(error)) from error
