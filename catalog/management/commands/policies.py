"""`manage.py policies export|plan|apply|test|snapshot FOLDER`: policies as code (docs/policies-as-code.md)."""

import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from catalog.bundle_tests import bundle, junit
from catalog.reports.snapshot import writer
from policies.authoring.api.bundles import describe_plan
from policies.authoring.services.bundles import applying, exporting, files, kinds, net_effect, plan_wording, planning
from policies.authoring.services.bundles.planning import BundleOptions
from policies.engine.model import Actor
from policies.errors import Invalid, PolicyAppError
from policies.models.people import ROOT_USERNAME, USER_PREFIX
from policies.pdp import actor_resolution

CHANNEL = "command"

#: Exit codes of `plan`, as those of Terraform: nothing would change is 0, an error is 1.
CHANGES_EXIT_CODE = 2

#: Exit codes of `test` when a test fails, and when its files cannot be read.
FAILED_EXIT_CODE, BAD_INPUT_EXIT_CODE = 1, 2


class Command(BaseCommand):
    """Exports to a folder, and plans and applies one."""

    help = "Keep policies and roles as files: export them to a folder, plan and apply what it says."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the commands and their options."""
        commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
        export = commands.add_parser("export", help="write what is stored to a folder, keeping comments there")
        _add_folder(export)
        export.add_argument(
            "--only", action="append", default=[], choices=list(kinds.load_kinds()), help="this kind; can be repeated"
        )
        plan = commands.add_parser(
            "plan", help=f"print what applying a folder would change; exits with {CHANGES_EXIT_CODE} if something would"
        )
        _add_folder(plan)
        plan.add_argument("--json", action="store_true", dest="is_json", help="print JSON")
        apply = commands.add_parser("apply", help="store what a folder says, all or nothing")
        _add_folder(apply)
        apply.add_argument(
            "--expect-version", type=int, metavar="N", help="refuse unless all policies are at this version"
        )
        test = commands.add_parser(
            "test", help="run the tests of a folder, without a server and a database; exits with 1 if one fails"
        )
        test.add_argument("folder", type=Path, metavar="FOLDER")
        test.add_argument("--snapshot", type=Path, metavar="FOLDER", help="answer from this snapshot of a catalog")
        test.add_argument("--junit", type=Path, metavar="FILE", help="write the results as JUnit XML, too")
        snapshot = commands.add_parser("snapshot", help="write what is stored to a new folder, for `test`")
        snapshot.add_argument("folder", type=Path, metavar="FOLDER")
        for command in (plan, apply):
            command.add_argument(
                "--prune", action="store_true", help="delete what is managed and no longer in the folder"
            )
            command.add_argument(
                "--confirm-empty", action="store_true", help="with --prune: a folder without files deletes everything"
            )
            command.add_argument("--take-over", action="store_true", help="take what is managed from another source")
            command.add_argument("--source", metavar="URL", help="where the folder is kept; pages link to it")
            command.add_argument(
                "--release", action="store_true", help="let pages and other programs change again what the folder holds"
            )

    def handle(self, *_: Any, command: str, folder: Path, **options: Any) -> None:
        """Run one of the commands."""
        run = {
            "export": self._export,
            "plan": self._plan,
            "apply": self._apply,
            "test": self._run_tests,
            "snapshot": self._write_snapshot,
        }[command]
        try:
            run(folder, options)
        except Invalid as error:
            for problem in error.problems:
                self.stderr.write(f"{problem.pointer}: {problem.detail} [{problem.code}]")
            if command == "test":
                raise CommandError("Nothing was tested.", returncode=BAD_INPUT_EXIT_CODE) from None
            raise CommandError("Nothing was stored.") from None
        except PolicyAppError as error:
            raise CommandError(error.detail) from None

    def _export(self, folder: Path, options: dict[str, Any]) -> None:
        texts = files.read_folder(folder) if folder.exists() else {}
        exported = exporting.export_bundle(by=_load_actor(options), folders=options["only"], texts=texts)
        count = exporting.write_folder(folder, exported)
        self.stdout.write(f"{len(exported)} entries, {count} files written.")

    def _plan(self, folder: Path, options: dict[str, Any]) -> None:
        by = _load_actor(options)
        plan = planning.plan_bundle(texts=files.read_folder(folder), options=_read_options(options), by=by)
        if options["is_json"]:
            self.stdout.write(json.dumps(describe_plan(plan, by=by), ensure_ascii=False, indent=2))
        else:
            self.stdout.write(plan_wording.render_plan(plan, net_effect.find_plan_effect(plan, by=by)))
        if not plan.is_empty:
            sys.exit(CHANGES_EXIT_CODE)

    def _apply(self, folder: Path, options: dict[str, Any]) -> None:
        plan, version = applying.apply_bundle(
            texts=files.read_folder(folder),
            options=_read_options(options),
            by=_load_actor(options),
            channel=CHANNEL,
            expected_version=options["expect_version"],
        )
        for warning in plan.warnings:
            self.stdout.write(warning)
        self.stdout.write(f"{plan_wording.render_counts(plan)} The policies are at version {version}.")

    def _run_tests(self, folder: Path, options: dict[str, Any]) -> None:
        if options["junit"] is not None:
            # What an earlier run found would be taken for what this one did not.
            options["junit"].unlink(missing_ok=True)
        results = bundle.run_folder(folder, snapshot=options["snapshot"])
        if options["junit"] is not None:
            options["junit"].write_text(junit.render_junit(results), encoding="utf-8")
        failed = [result for result in results if result.failures]
        for result in failed:
            for line, message in result.failures:
                self.stdout.write(f"{result.file}:{line}: {result.name}\n    {message}")
        self.stdout.write(f"{len(results) - len(failed)} of {len(results)} hold.")
        if failed:
            sys.exit(FAILED_EXIT_CODE)

    def _write_snapshot(self, folder: Path, _options: dict[str, Any]) -> None:
        try:
            manifest = writer.write(folder=folder.resolve(), as_of=timezone.now())
        except OSError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{folder}: {manifest.rows['policies']} policies, {manifest.rows['entities']} entities.")


def _add_folder(parser: ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument(
        "--as", dest="as_user", default=ROOT_USERNAME, metavar="USER", help=f"act as this user ({ROOT_USERNAME})"
    )


def _load_actor(options: dict[str, Any]) -> Actor:
    return actor_resolution.load_actor(urn=f"{USER_PREFIX}{options['as_user']}")


def _read_options(options: dict[str, Any]) -> BundleOptions:
    return BundleOptions(
        is_pruning=options["prune"],
        source=options["source"],
        is_releasing=options["release"],
        is_empty_confirmed=options["confirm_empty"],
        is_taking_over=options["take_over"],
    )
