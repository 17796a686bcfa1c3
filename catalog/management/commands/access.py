"""`manage.py access`: who reached an entity, what a person reached, or who gained and lost access between two runs."""

from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from catalog.models import Report
from catalog.reports.run import access_lookup
from catalog.reports.snapshot.partitions import Corrupt
from policies.errors import PolicyAppError


class Command(BaseCommand):
    """Asks finished effective access reports, which kept what they were made from; lines are URNs, with counts."""

    help = (
        "Query a finished effective access report by --entity, by --person, or by --since an earlier run and --facet."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Read the report and what is asked of it."""
        parser.add_argument("report", help="id of the report: the last part of the address of its page")
        parser.add_argument("privilege", help="for example VIEW_ENTITY_PAGE")
        asked = parser.add_mutually_exclusive_group(required=True)
        asked.add_argument("--entity", metavar="URN", help="list who could use the privilege on this entity")
        asked.add_argument("--person", metavar="URN", help="list the entities that this person could use it on")
        asked.add_argument(
            "--since", metavar="REPORT", help="list who gained (+) and lost (-) it since this earlier report"
        )
        parser.add_argument(
            "--facet",
            nargs=2,
            metavar=("FIELD", "VALUE"),
            help="with --since: only on entities with this value, such as TAG urn:li:tag:PII",
        )

    def handle(self, *_: Any, **told: Any) -> None:
        """Answer, a line a URN."""
        try:
            self._answer(told)
        except (PolicyAppError, Corrupt) as error:
            raise CommandError(str(error)) from None

    def _answer(self, told: dict[str, Any]) -> None:
        report, privilege = _report(told["report"]), told["privilege"]
        if told["entity"]:
            self.stdout.write("\n".join(access_lookup.who(report=report, privilege=privilege, entity=told["entity"])))
        elif told["person"]:
            self.stdout.write("\n".join(access_lookup.what(report=report, privilege=privilege, person=told["person"])))
        else:
            if not told["facet"]:
                raise CommandError("--since needs --facet FIELD VALUE, such as --facet TAG urn:li:tag:PII.")
            field, value = told["facet"]
            before = _report(told["since"])
            found = access_lookup.changed(before=before, after=report, privilege=privilege, field=field, value=value)
            for mark, people in (("+", found.gained), ("-", found.lost)):
                for person, count in sorted(people.items(), key=lambda one: (-one[1], one[0])):
                    self.stdout.write(f"{mark}{count} {person}")


def _report(number: str) -> Report:
    try:
        return Report.objects.get(pk=number, kind="effective_access", status=Report.Status.READY)
    except (Report.DoesNotExist, ValidationError):
        raise CommandError(
            f"There is no finished effective access report {number}. The page Reports lists all runs."
        ) from None
