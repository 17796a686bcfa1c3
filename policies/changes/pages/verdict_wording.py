"""Wording of what is said of a change beside who gains and loses: proofs, guardrails, and the replay of the log."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from policies.changes import preview
from policies.changes.comparison import EffectQuestion
from policies.changes.guardrail_verdicts import GuardrailVerdict
from policies.changes.kinds import Change
from policies.changes.pages.net_change_wording import MAX_ITEMS, REFUSALS, ChangeWording, word_preview, word_refusal
from policies.changes.proofs import ChangeProofs
from policies.changes.replay import Replay, ReplayedAccess
from policies.engine import families
from policies.engine.guardrails.sentences import add_example, list_rule_urns, word_added_breach
from policies.engine.model import Actor
from policies.engine.proofs.sentences import describe_proofs
from policies.engine.wording import word_count, word_time
from policies.errors import Busy, Forbidden, Invalid, NotFound
from policies.models import Guardrail
from policies.pdp import authorizer
from policies.writes import required_privileges

#: Most people and privileges that a replay names.
MAX_REPLAYED = 5

EVERY_GUARDRAIL_HOLDS = "Every guardrail holds."
#: For whoever may not learn of guardrails that stand in nobody's way.
NO_GUARDRAIL_IN_THE_WAY = "This breaks no guardrail."


def build_verdicts(*, changes: Sequence[Change], by: Actor, days: int | None = None) -> dict[str, Any]:
    """Return the sentences on changes by list: `proofs`, `guardrails`, and with days the `replay`; empty if refused.

    While another preview of the account runs, that stands in the place of proofs.
    """
    try:
        verdicts = preview.find_verdicts(changes=changes, by=by, replay_days=days, limit=MAX_REPLAYED + 1)
    except Busy as refusal:
        return {"proofs": [refusal.detail]}
    except (Forbidden, Invalid, NotFound):
        # Why is said beside who gains and loses.
        return {}
    return _describe_all(verdicts.proofs, verdicts.guardrails, verdicts.replay, by)


def preview_in_words(
    *, changes: Sequence[Change], by: Actor, days: int | None = None
) -> tuple[ChangeWording, dict[str, Any]]:
    """Return the sentences on who gains and loses, and those of `build_verdicts`, from one preview."""
    try:
        result = preview.preview_changes(
            changes=changes,
            by=by,
            question=EffectQuestion(MAX_ITEMS),
            is_proved=True,
            is_guarded=True,
            replay_days=days,
        )
    except REFUSALS as refusal:
        return word_refusal(refusal), {}
    proofs = result.proofs or ChangeProofs()
    return word_preview(result), _describe_all(proofs, result.guardrails, result.replay, by)


def describe_policy_changes(*, changes: Sequence[Change], by: Actor) -> ChangeWording:
    """Return all sentences on changes of policies: who gains and loses, guardrails, and what is proved.

    Guardrails that do not hold come first.
    """
    wording, verdicts = preview_in_words(changes=changes, by=by)
    guardrails = verdicts.get("guardrails", [])
    is_unmet = bool(guardrails) and guardrails[0] not in (EVERY_GUARDRAIL_HOLDS, NO_GUARDRAIL_IN_THE_WAY)
    sentences = [*guardrails, *wording.sentences] if is_unmet else [*wording.sentences, *guardrails]
    return wording._replace(sentences=[*sentences, *verdicts.get("proofs", ())])


def _describe_all(
    proofs: ChangeProofs, guardrails: Iterable[GuardrailVerdict], replay: Replay | None, by: Actor
) -> dict[str, Any]:
    return {
        "proofs": describe_change_proofs(proofs),
        "guardrails": describe_verdicts(guardrails, by=by),
        "replay": None if replay is None else describe_replay(replay),
    }


def describe_change_proofs(proofs: ChangeProofs) -> list[str]:
    """Return the sentences on what the change gives and takes in any catalog."""
    urns = list_rule_urns([proofs.allows_more.example, proofs.allows_less.example])
    return describe_proofs(proofs.allows_more, proofs.allows_less, authorizer.load_names(urns=urns))


def describe_verdicts(verdicts: Iterable[GuardrailVerdict], *, by: Actor) -> list[str]:
    """Return a sentence on each guardrail that does not hold after the change, now or later, and one on all others.

    A reader who does not manage guardrails is not told that there are others.
    """
    verdict_list = list(verdicts)
    if not verdict_list and not required_privileges.is_met(required_privileges.MANAGE_GUARDRAILS, by=by):
        return [NO_GUARDRAIL_IN_THE_WAY]
    unmet_verdicts = [
        verdict
        for verdict in verdict_list
        if verdict.verdict != Guardrail.Status.HOLDS or verdict.breaks_at is not None
    ]
    names = authorizer.load_names(urns=list_rule_urns([verdict.example for verdict in unmet_verdicts]))
    sentences = [_describe_verdict(verdict, names) for verdict in unmet_verdicts]
    holding_count = len(verdict_list) - len(unmet_verdicts)
    if not unmet_verdicts and verdict_list:
        return [EVERY_GUARDRAIL_HOLDS]
    if holding_count:
        sentences.append(f"{word_count(holding_count, 'other guardrail holds', 'other guardrails hold')}.")
    return sentences


def _describe_verdict(verdict: GuardrailVerdict, names: Mapping[str, str]) -> str:
    name = f"The guardrail {verdict.name}" if verdict.name else "A guardrail"
    is_known = verdict.verdict == Guardrail.Status.BROKEN
    breaks_at = None if verdict.breaks_at is None else datetime.fromisoformat(verdict.breaks_at)
    if verdict.is_added:
        is_enforced = verdict.mode == Guardrail.Mode.ENFORCE
        consequence = "so this cannot be saved" if is_enforced else "which is saved and reported"
        clause = word_added_breach(name, is_certain=is_known, breaks_at=breaks_at)
        sentence = f"{clause}, {consequence}. {verdict.sentence}"
    elif breaks_at is not None:
        sentence = f"{name} holds until {word_time(breaks_at)}, with or without this, and is broken then."
    else:
        outcome = "is broken already, and stays so" if is_known else "is not known to hold, with or without this"
        sentence = f"{name} {outcome}."
    return add_example(sentence.strip(), verdict.example, names)


def describe_replay(replay: Replay) -> dict[str, Any]:
    """Return the result of a replay: its sentence, those on people, and what it does not see."""
    items = replay.items[:MAX_REPLAYED]
    names = authorizer.load_names(urns={urn for item in items for urn in (item.actor, *item.examples)})
    return {
        "heading": _describe_counts(replay),
        "sentences": [_describe_item(item, names) for item in items],
        "since": replay.since,
        "notes": list(_list_limits(replay)),
    }


def _describe_counts(replay: Replay) -> str:
    request_text = word_count(replay.requests, "logged request", "logged requests")
    parts = [
        f"{number:,} would now be {outcome}"
        for number, outcome in ((replay.now_denied, "refused"), (replay.now_allowed, "allowed"))
        if number
    ]
    return f"Of {request_text}, {' and '.join(parts) or 'none would be answered differently'}."


def _describe_item(item: ReplayedAccess, names: Mapping[str, str]) -> str:
    parts = [
        f"{word_count(number, 'request', 'requests')} {outcome}"
        for number, outcome in ((item.now_denied, "refused"), (item.now_allowed, "allowed"))
        if number
    ]
    examples = ", ".join(names.get(urn) or urn for urn in item.examples)
    prefix = "for example " if item.entities > len(item.examples) else ""
    scope = f", on {word_count(item.entities, 'entity', 'entities')}" if item.entities else ""
    return (
        f"{names.get(item.actor) or item.actor}: {families.display_privilege(item.privilege)}{scope}"
        f"{f' ({prefix}{examples})' if examples else ''}: {' and '.join(parts)}, last on {item.last_asked:%d %B %Y}."
    )


def _list_limits(replay: Replay) -> Iterator[str]:
    if replay.sample < 1:
        yield (
            f"The log has every refusal, but only {replay.sample:.0%} of what was allowed: what would be refused"
            " happens that much more often."
        )
    if replay.left_out:
        requests = word_count(replay.left_out, "request is", "requests are")
        yield f"{requests} left out, since the log does not hold the whole question."
    if not replay.is_exact:
        yield "There were too many different questions: only those asked last were answered again."
    if len(replay.items) > MAX_REPLAYED:
        yield f"The {MAX_REPLAYED} with most requests are named."
