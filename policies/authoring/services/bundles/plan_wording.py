"""A plan in words: the diff, who gains and loses what, what is proved, and which guardrails hold."""

from collections.abc import Iterator
from datetime import datetime

from policies.authoring.services.bundles import planning
from policies.authoring.services.bundles.net_effect import PlanEffect
from policies.authoring.services.bundles.planning import BundlePlan
from policies.changes.guardrail_verdicts import GuardrailVerdict
from policies.engine.guardrails.sentences import add_example, describe_example, list_rule_urns
from policies.engine.proofs.verdicts import Proof, Verdict
from policies.engine.wording import word_count, word_time
from policies.models import Guardrail
from policies.pdp import display_names


def render_plan(plan: BundlePlan, effect: PlanEffect | None) -> str:
    """Return the lines of a plan with its effect."""
    return "\n".join(_list_lines(plan, effect))


def render_counts(plan: BundlePlan) -> str:
    """Return how many entries are created, changed and so on."""
    counts = [f"{count} to {action}" for action, count in plan.count_actions().items() if count]
    return f"{', '.join(counts)}." if counts else "Nothing changes."


def _list_lines(plan: BundlePlan, effect: PlanEffect | None) -> Iterator[str]:
    yield from plan.warnings
    for folder, changes in plan.changes.items():
        for change in changes:
            location = change.entry.file.path if change.entry is not None else folder
            name = change.name if change.name == change.key else f"{change.name} ({change.key})"
            yield f"{change.action}: {name}, {location}"
            yield from (f"    {line}" for line in planning.diff_change(change))
    yield from _render_effect(effect)
    yield f"{render_counts(plan)} Compared with version {plan.policy_version}."


def _render_effect(effect: PlanEffect | None) -> Iterator[str]:
    if effect is None:
        return
    change = effect.change
    for word, side, platform in (
        ("gain", change.gained, change.platform_gained),
        ("lose", change.lost, change.platform_lost),
    ):
        if side.total.pairs:
            people = word_count(side.total.people, "person", "people")
            verb = f"{word}s" if side.total.people == 1 else word
            entities = word_count(side.total.entities, "entity", "entities")
            yield f"{people} {verb} access to {entities}:"
            yield from (f"    {item.actor} {item.privilege}, entities: {item.entities}" for item in side.items)
        yield from (f"    {item.actor} would {word} {item.privilege} on the platform" for item in platform)
    if not change.is_exact:
        yield "These are the first found; the report policy_impact finds all."
    yield _word_proof(effect.proofs.allows_more, verb="gives", other="more")
    yield _word_proof(effect.proofs.allows_less, verb="takes", other="less")
    yield from (_word_verdict(verdict) for verdict in effect.guardrails)


def _word_verdict(verdict: GuardrailVerdict) -> str:
    """Return the line on a guardrail: whether it holds after the plan, its rule unless it does, and an example."""
    outcome = "not known" if verdict.verdict is Guardrail.Status.UNKNOWN else verdict.verdict.value
    if verdict.breaks_at is not None:
        is_later = verdict.verdict is Guardrail.Status.HOLDS
        outcome = f"{outcome} {'until' if is_later else 'from'} {word_time(datetime.fromisoformat(verdict.breaks_at))}"
    if verdict.is_added and verdict.mode == Guardrail.Mode.ENFORCE:
        outcome = f"{outcome}, so applying is refused"
    sentence = f" {verdict.sentence}" if verdict.verdict is not Guardrail.Status.HOLDS else ""
    names = display_names.load_names(urns=list_rule_urns(verdict.example))
    return add_example(f"Guardrail {verdict.name or verdict.urn}: {outcome}.{sentence}", verdict.example, names)


def _word_proof(proof: Proof, *, verb: str, other: str) -> str:
    """Return the line on a proof: whether it holds in any catalog there could be, and an example if it does."""
    if proof.verdict is Verdict.NO:
        return f"Proved: whatever is in the catalog, this {verb} nobody anything."
    if proof.verdict is Verdict.UNKNOWN:
        return f"Not proved in the time there is: whether this could allow anybody {other}."
    if proof.example is None:
        return f"Proved: this allows {other}."
    names = display_names.load_names(urns=list_rule_urns(proof.example))
    return f"Proved: this allows {other}, for example {describe_example(proof.example, names)}"
