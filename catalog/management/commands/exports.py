"""`manage.py exports sql SYSTEM`: print the queries that make the files of an export of a source system."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from catalog.warehouses.scripts import SCRIPTS


class Command(BaseCommand):
    """Print the script that makes the files of an export."""

    help = "Print the queries that make the files of an export of a source system (docs/warehouses)."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add what to print, and the system."""
        commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
        command = commands.add_parser("sql", help="the queries, as a script for the client of the system")
        command.add_argument("system", choices=sorted(SCRIPTS), metavar="SYSTEM", help=f"one of {', '.join(SCRIPTS)}")

    def handle(self, *_: Any, system: str, **__: Any) -> None:
        """Print the script."""
        self.stdout.write(SCRIPTS[system].render(), ending="")
