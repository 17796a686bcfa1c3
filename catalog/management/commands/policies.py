"""`manage.py policies export|plan|apply|test|snapshot FOLDER`: policies as code (docs/policies-as-code.md)."""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from catalog.reports.bundle_tests import bundle, junit
from catalog.reports.snapshot import writer
from policies.authoring.api.bundles import describe_plan
from policies.authoring.services.bundles import applying, exporting, files, kinds, net_effect, planning
from policies.authoring.services.bundles.net_effect import PlanEffect
from policies.authoring.services.bundles.planning import BundleOptions, BundlePlan
from policies.authoring.services.change_guardrails import GuardrailVerdict
from policies.engine.guardrails.sentences import describe_example, list_rule_urns
from policies.engine.model import Actor
from policies.engine.proofs.verdicts import Proof, Verdict
from policies.errors import Invalid, PolicyAppError
from policies.models import Guardrail
from policies.models.people import ROOT_USERNAME, USER_PREFIX
from policies.pdp import actor_resolution, display_names

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
            self.stdout.write("\n".join(_render_plan(plan, by)))
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
        self.stdout.write(f"{_render_counts(plan)} The policies are at version {version}.")

    def _run_tests(self, folder: Path, options: dict[str, Any]) -> None:
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
    return BundleOptions(is_pruning=options["prune"], source=options["source"], is_releasing=options["release"])


def _render_plan(plan: BundlePlan, by: Actor) -> Iterator[str]:
    for folder, changes in plan.changes.items():
        for change in changes:
            location = change.entry.file.path if change.entry is not None else folder
            yield f"{change.action}: {change.name} ({change.key}), {location}"
            yield from (f"    {line}" for line in planning.diff_change(change))
    yield from _render_effect(net_effect.find_plan_effect(plan, by=by))
    yield f"{_render_counts(plan)} Compared with version {plan.policy_version}."


def _render_effect(effect: PlanEffect | None) -> Iterator[str]:
    if effect is None:
        return
    change = effect.change
    for word, side, platform in (
        ("gain", change.gained, change.platform_gained),
        ("lose", change.lost, change.platform_lost),
    ):
        if side.total.pairs:
            yield f"{side.total.people} people {word} {side.total.pairs} privileges on {side.total.entities} entities:"
            yield from (f"    {item.actor} {item.privilege}, entities: {item.entities}" for item in side.items)
        yield from (f"    {item.actor} would {word} {item.privilege} on the platform" for item in platform)
    if not change.is_exact:
        yield "These are the first found; the report policy_impact finds all."
    yield _word_proof(effect.proofs.allows_more, verb="gives", other="more")
    yield _word_proof(effect.proofs.allows_less, verb="takes", other="less")
    yield from (_word_verdict(verdict) for verdict in effect.guardrails)


def _word_verdict(verdict: GuardrailVerdict) -> str:
    """Return what is known of a guardrail after a plan."""
    outcome = "not known" if verdict.verdict is Guardrail.Status.UNKNOWN else verdict.verdict.value
    if verdict.is_added and verdict.mode == Guardrail.Mode.ENFORCE:
        outcome = f"{outcome}, so applying is refused"
    sentence = f" {verdict.sentence}" if verdict.verdict is not Guardrail.Status.HOLDS else ""
    names = display_names.load_names(urns=list_rule_urns(verdict.example))
    example = "" if verdict.example is None else f" For example {describe_example(verdict.example, names)}"
    return f"Guardrail {verdict.name or verdict.urn}: {outcome}.{sentence}{example}"


def _word_proof(proof: Proof, *, verb: str, other: str) -> str:
    """Return what is proved of a change in any catalog there could be."""
    if proof.verdict is Verdict.NO:
        return f"Proved: whatever is in the catalog, this {verb} nobody anything."
    if proof.verdict is Verdict.UNKNOWN:
        return f"Not proved in the time there is: whether this could allow anybody {other}."
    if proof.example is None:
        return f"Proved: this allows {other}."
    names = display_names.load_names(urns=list_rule_urns(proof.example))
    return f"Proved: this allows {other}, for example {describe_example(proof.example, names)}"


def _render_counts(plan: BundlePlan) -> str:
    counts = [f"{count} to {action}" for action, count in plan.count_actions().items() if count]
    return f"{', '.join(counts)}." if counts else "Nothing changes."
