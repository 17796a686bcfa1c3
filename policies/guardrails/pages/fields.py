"""Template context of the fields of a rule: the kind, whom it is about, and what it is about."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict

from policies.authoring.pages.builder_fields import BuilderFields
from policies.authoring.pages.datahub_wording import EXCLUDED_ACTOR_LISTS
from policies.authoring.pages.form_values import FieldNotes
from policies.engine import property_conditions, wording
from policies.engine.errors import Problem
from policies.engine.families import datahub, vocabulary
from policies.engine.families.vocabulary import PrivilegeInfo
from policies.engine.guardrails.rules import EVERYBODY_EXCEPT, RuleKind
from policies.engine.guardrails.sentences import describe_rule, list_rule_urns
from policies.guardrails.pages.draft import ACTORS, EVERYBODY, EXCEPT, FIRST, NAMED, SECOND, GuardrailDraft
from policies.guardrails.pages.shapes import is_showable
from policies.pdp import authorizer

KIND_LABELS = {
    RuleKind.NEVER: "Nobody may ever",
    RuleKind.ALWAYS: "Somebody must always be able to",
    RuleKind.AT_LEAST: "So many must hold",
    RuleKind.NOT_BOTH: "No one person may both",
    RuleKind.NO_POLICY: "No policy may speak to",
}
_KIND_HELP = {
    RuleKind.NEVER: "No one, regardless of policies, groups and roles, and of entities added to the catalog later.",
    RuleKind.ALWAYS: "Each of the users chosen, on all of it that there is.",
    RuleKind.AT_LEAST: "So many active people hold privileges on the platform.",
    RuleKind.NOT_BOTH: "No one may hold privileges from both lists (segregation of duties).",
    RuleKind.NO_POLICY: "No single policy gives this to those people, whatever denies take away again.",
}
_AUDIENCES = {
    EVERYBODY: "Everybody, without exception",
    EXCEPT: "Everybody except those chosen here",
    NAMED: "Only those chosen here",
}
_SCOPES = (("any", "Everything, and the platform"), ("some", "What meets all conditions below"))
_SCOPE_TITLES = {FIRST: "The one", SECOND: "The other"}


@dataclass(frozen=True, slots=True)
class _RuleFields(BuilderFields):
    """The fields of one part of a rule, whose privileges are those of entities and of the platform, or of that only."""

    is_platform: bool = False

    def list_offered_privileges(self) -> tuple[PrivilegeInfo, ...]:
        """Return the privileges on the platform, and those on entities unless the rule is about holders."""
        platform = vocabulary.load_datahub().platform_privileges()
        if self.is_platform:
            return platform
        entity_privileges = BuilderFields.list_offered_privileges(self)
        return entity_privileges if self.draft.block is not None else (*entity_privileges, *platform)


def build_parts_context(draft: GuardrailDraft, errors: Sequence[Problem], data: QueryDict) -> dict[str, Any]:
    """Return the context of all fields of the rule; `pointers` are the places of problems that they show."""
    if draft.rule_text is not None:
        return {"pointers": ("/rule",)}
    pointers, is_counted = _list_pointers(draft.kind), draft.kind is RuleKind.AT_LEAST
    fields = {
        part: _RuleFields(
            draft.parts[part],
            _collect_part_notes(errors, pointers.get(part, {}), draft, part),
            data,
            f"{part}-",
            is_counted,
        )
        for part in (ACTORS, FIRST, SECOND)
    }
    parts = (FIRST, SECOND) if draft.kind is RuleKind.NOT_BOTH else (FIRST,)
    shown_pointers = [pointer for beginnings in pointers.values() for pointer in beginnings]
    if draft.kind is not RuleKind.NOT_BOTH:
        shown_pointers = [pointer for pointer in shown_pointers if pointer != f"/rule/{draft.kind}"]
        shown_pointers += [f"/rule/{draft.kind}/{name}" for name in ("privileges", "resources")]
    actor_fields = fields[ACTORS]
    pickers = actor_fields.build_actor_pickers()
    return {
        "kinds": [(kind, label, _KIND_HELP[kind], kind is draft.kind) for kind, label in KIND_LABELS.items()],
        "audiences": [
            (value, label, value == draft.audience)
            for value, label in _AUDIENCES.items()
            if value != NAMED or draft.kind is not RuleKind.NOT_BOTH
        ],
        "shows_users": draft.kind is RuleKind.ALWAYS,
        "pickers": pickers,
        "has_exceptions": any(
            draft.actors.get(key) or pickers[key]["pasted"] or pickers[key]["notes"]["errors"]
            for key, _, _ in EXCLUDED_ACTOR_LISTS
        ),
        "actor_notes": actor_fields.notes.find_exactly("/actors"),
        "number_notes": FieldNotes(errors, ()).find("/rule/at_least/number"),
        "is_counted": is_counted,
        "scopes": [_build_scope_context(fields[part], part, draft, data) for part in parts],
        "addable": [(name, wording.FIELDS[name].label) for name in datahub.FIELDS if name != "GROUP_MEMBERSHIP"],
        "addable_properties": [(property_conditions.RESOURCE, wording.PARTIES[property_conditions.RESOURCE])],
        "pointers": (*shown_pointers, "/rule/at_least/number"),
    }


def describe_incomplete_rule(rule: Any) -> str:
    """Return the sentence of a rule that may be incomplete; an empty one for what is no rule."""
    if not is_showable(rule):
        return ""
    ((kind, body),) = rule.items()
    whole_body = {"actors": {}, "privileges": [], "number": "…", **body}
    for part in ("first", "second"):
        whole_body[part] = {"privileges": [], **(body.get(part) or {})}
    names = authorizer.load_names(urns=list_rule_urns(rule))
    return describe_rule({kind: whole_body}, names)


def _build_scope_context(fields: _RuleFields, part: str, draft: GuardrailDraft, data: QueryDict) -> dict[str, Any]:
    is_pair = draft.kind is RuleKind.NOT_BOTH
    search_text = data.get(f"{part}-find", "")[:100]
    scope = "any" if fields.draft.block is None else "some"
    return {
        "part": part,
        "title": _SCOPE_TITLES[part] if is_pair else "What it is about",
        "privileges_title": f"Privileges of {_SCOPE_TITLES[part].lower()}" if is_pair else "Privileges",
        "add_label": f"Add a condition on {_SCOPE_TITLES[part].lower()}" if is_pair else "Add a condition on",
        "prefix": f"{part}-c",
        "choices": [(value, label, value == scope) for value, label in _SCOPES],
        "is_limited": scope == "some",
        "cards": fields.build_criterion_cards("c"),
        "find": search_text,
        "privileges": fields.group_privileges(search_text),
        "notes": fields.notes.find_exactly("/resources"),
        "privilege_notes": fields.notes.find("/privileges"),
    }


def _list_pointers(kind: RuleKind) -> dict[str, dict[str, str]]:
    """Return where the problems of each part stand in the rule → where they stand in a policy."""
    if kind is RuleKind.NOT_BOTH:
        start = f"/rule/{kind}"
        people = {f"{start}/except/{EVERYBODY_EXCEPT}": "/actors", f"{start}/except": "/actors"}
        return {ACTORS: people, FIRST: {f"{start}/first": ""}, SECOND: {f"{start}/second": ""}}
    start = f"/rule/{kind}/actors"
    return {ACTORS: {f"{start}/{EVERYBODY_EXCEPT}": "/actors", start: "/actors"}, FIRST: {f"/rule/{kind}": ""}}


def _collect_part_notes(
    errors: Iterable[Problem], beginnings: Mapping[str, str], draft: GuardrailDraft, part: str
) -> FieldNotes:
    """Return the problems of one part, at the places where a policy has them."""
    problems = list(draft.parts[part].problems)
    for problem in errors:
        start = next((start for start in beginnings if f"{problem.pointer}/".startswith(f"{start}/")), None)
        if start is not None:
            pointer = f"{beginnings[start]}{problem.pointer.removeprefix(start)}"
            problems.append(Problem(problem.code, pointer, problem.detail))
    return FieldNotes(problems, ())
