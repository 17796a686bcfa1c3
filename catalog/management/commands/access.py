"""`manage.py access`: people who reached an entity, entities that a person reached, or changes between two runs."""

from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from catalog.models import Report
from catalog.reports.run import access_lookup
from catalog.reports.snapshot.reader import CorruptSnapshot
from policies.errors import PolicyAppError


class Command(BaseCommand):
    """Query finished effective access reports by the snapshots they kept; output lines are URNs, with counts."""

    help = (
        "Query a finished effective access report by --entity, by --person, or by --since an earlier run and --facet."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the report, the privilege and the query."""
        parser.add_argument("report", help="id of the report: the last part of the address of its page")
        parser.add_argument("privilege", help="for example VIEW_ENTITY_PAGE")
        query_group = parser.add_mutually_exclusive_group(required=True)
        query_group.add_argument("--entity", metavar="URN", help="list who could use the privilege on this entity")
        query_group.add_argument("--person", metavar="URN", help="list the entities that this person could use it on")
        query_group.add_argument(
            "--since", metavar="REPORT", help="list who gained (+) and lost (-) it since this earlier report"
        )
        parser.add_argument(
            "--facet",
            nargs=2,
            metavar=("FIELD", "VALUE"),
            help="with --since: only on entities with this value, such as TAG urn:li:tag:PII",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        """Print the answer, one URN per line."""
        try:
            self._answer(options)
        except (PolicyAppError, CorruptSnapshot) as error:
            raise CommandError(str(error)) from None

    def _answer(self, options: dict[str, Any]) -> None:
        report, privilege = _load_report(options["report"]), options["privilege"]
        if options["entity"]:
            self.stdout.write(
                "\n".join(access_lookup.list_people(report=report, privilege=privilege, entity=options["entity"]))
            )
        elif options["person"]:
            self.stdout.write(
                "\n".join(access_lookup.list_entities(report=report, privilege=privilege, person=options["person"]))
            )
        else:
            if not options["facet"]:
                raise CommandError("--since needs --facet FIELD VALUE, such as --facet TAG urn:li:tag:PII.")
            field, value = options["facet"]
            earlier_report = _load_report(options["since"])
            access_change = access_lookup.count_changes(
                older=earlier_report, newer=report, privilege=privilege, field=field, value=value
            )
            for mark, people in (("+", access_change.gained), ("-", access_change.lost)):
                for person, count in sorted(people.items(), key=lambda item: (-item[1], item[0])):
                    self.stdout.write(f"{mark}{count} {person}")


def _load_report(report_id: str) -> Report:
    try:
        return Report.objects.get(pk=report_id, kind="effective_access", status=Report.Status.READY)
    except (Report.DoesNotExist, ValidationError):
        raise CommandError(
            f"There is no finished effective access report {report_id}. The page Reports lists all runs."
        ) from None
