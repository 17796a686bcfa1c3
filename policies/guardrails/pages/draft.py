"""The draft of a guardrail: what its form holds, or the JSON of its rule, merged and composed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from django.core import signing
from django.http import QueryDict

from policies.authoring.pages.datahub_draft import DataHubDraft
from policies.authoring.pages.datahub_wording import ACTOR_LISTS, EXCLUDED_ACTOR_LISTS
from policies.engine.guardrails.rules import EVERYBODY_EXCEPT, RuleKind
from policies.guardrails.pages.shapes import is_showable
from policies.models import Guardrail

#: Whom a rule is about: everybody, everybody except those chosen, or those chosen.
EVERYBODY, EXCEPT, NAMED = "everybody", "except", "named"

#: The parts of the form, each a draft of a policy of which only a part is shown: actors, and what the rule is about.
ACTORS, FIRST, SECOND = "actors", "first", "second"
PARTS = (ACTORS, FIRST, SECOND)

#: The kinds whose people are chosen in one of the three ways.
_AUDIENCE_KINDS = (RuleKind.NEVER, RuleKind.NO_POLICY, RuleKind.NOT_BOTH)

_LISTS = tuple(key for key, _, _ in (*ACTOR_LISTS, *EXCLUDED_ACTOR_LISTS))
_SALT = "policies.guardrail"
_TEXTS = ("name", "description", "mode")


def _build_parts() -> dict[str, DataHubDraft]:
    return {part: DataHubDraft({"actors": {}} if part == ACTORS else {"privileges": []}) for part in PARTS}


@dataclass(slots=True)
class GuardrailDraft:
    """A guardrail being edited. With `rule_text` it is written as JSON, and the parts wait.

    Fields that the chosen kind of rule does not use are kept for the case that another kind is chosen again.
    """

    name: str = ""
    description: str = ""
    mode: str = Guardrail.Mode.ENFORCE.value
    kind: RuleKind = RuleKind.NEVER
    audience: str = EXCEPT
    number: str = "2"
    parts: dict[str, DataHubDraft] = field(default_factory=_build_parts)
    rule_text: str | None = None

    @classmethod
    def from_post(cls, data: QueryDict) -> Self | None:
        """Return the draft that a form sent back, with its fields; None without a valid signature."""
        try:
            payload = signing.loads(data.get("draft", ""), salt=_SALT)
        except signing.BadSignature:
            return None
        draft = cls(kind=RuleKind(payload["kind"]), audience=payload["audience"], number=payload["number"])
        draft.parts = {name: DataHubDraft(*part) for name, part in payload["parts"].items()}
        for name in _TEXTS:
            # Browsers send line ends as CRLF.
            setattr(draft, name, data.get(name, "").replace("\r\n", "\n"))
        if "rule" in data:
            draft.rule_text = data.get("rule", "")
        else:
            draft._apply_rule(data)
        return draft

    def to_signed_text(self) -> str:
        """Return the draft as the signed text that the form carries."""
        parts = {name: (part.document, part.disabled_resources) for name, part in self.parts.items()}
        payload = {"kind": self.kind.value, "audience": self.audience, "number": self.number, "parts": parts}
        return signing.dumps(payload, salt=_SALT, compress=True)

    def show_rule(self, rule: Any) -> bool:
        """Put a rule into the form; false, and nothing is changed, if the form cannot show it."""
        if not is_showable(rule):
            return False
        ((kind, body),) = rule.items()
        self.kind, self.rule_text = RuleKind(kind), None
        if self.kind is RuleKind.AT_LEAST:
            self.number = str(body.get("number", ""))
        if self.kind is RuleKind.NOT_BOTH:
            self._show_scope(FIRST, body.get("first") or {})
            self._show_scope(SECOND, body.get("second") or {})
            exception = body.get("except")
            self._show_actors({EVERYBODY_EXCEPT: exception} if exception else {"allUsers": True})
        else:
            self._show_scope(FIRST, body)
            self._show_actors(body.get("actors") or {})
        return True

    def compose_rule(self) -> dict[str, Any]:
        """Return the rule that the form states, complete or not."""
        match self.kind:
            case RuleKind.AT_LEAST:
                number = int(self.number) if self.number.isdecimal() and len(self.number) < 10 else self.number
                body: dict[str, Any] = {"number": number, "privileges": self._list_privileges(FIRST)}
            case RuleKind.NOT_BOTH:
                body = {"first": self._compose_scope(FIRST), "second": self._compose_scope(SECOND)}
                if self.audience != EVERYBODY:
                    body["except"] = self._compose_actors()
            case RuleKind.ALWAYS:
                body = {"actors": {"users": self.actors.get("users") or []}, **self._compose_scope(FIRST)}
            case _:
                body = {"actors": self._compose_audience(), **self._compose_scope(FIRST)}
        return {self.kind.value: body}

    @property
    def actors(self) -> dict[str, Any]:
        """The chosen actors, in the form of a policy."""
        actors: dict[str, Any] = self.parts[ACTORS].document["actors"]
        return actors

    @property
    def has_audience(self) -> bool:
        """Whether the kind of rule leaves open in which way people are chosen."""
        return self.kind in _AUDIENCE_KINDS

    @property
    def shows_lists(self) -> bool:
        """Whether all lists of actors are shown."""
        return self.has_audience and self.audience != EVERYBODY

    def find_part(self, prefix: str) -> tuple[DataHubDraft, str] | None:
        """Return the part, and the rest of the prefix of a list of criteria, such as `first-c`."""
        part, _, rest = prefix.partition("-")
        return (self.parts[part], rest) if part in PARTS else None

    # -- parts ----------------------------------------------------------------------------------------------------

    def _apply_rule(self, data: QueryDict) -> None:
        """Merge the fields that the form showed, which are those of the kind that it came with."""
        if self.shows_lists or self.kind is RuleKind.ALWAYS:
            earlier_actors = dict(self.actors)
            self.parts[ACTORS].apply_actors(_select(data, ACTORS))
            if self.kind is RuleKind.ALWAYS:
                self.parts[ACTORS].document["actors"] = earlier_actors | {"users": self.actors.get("users")}
        if self.kind is RuleKind.AT_LEAST:
            self.number = data.get("number", "").strip()
        if self.kind is RuleKind.NOT_BOTH:
            self.parts[SECOND].apply_resources(_select(data, SECOND))
        self.parts[FIRST].apply_resources(_select(data, FIRST))
        audience, kind = data.get("audience", ""), data.get("kind", "")
        if audience in (EVERYBODY, EXCEPT, NAMED):
            self.audience = audience
        if kind in tuple(RuleKind):
            self.kind = RuleKind(kind)

    def _show_scope(self, part: str, body: Mapping[str, Any]) -> None:
        block = body.get("resources")
        document = {"privileges": body.get("privileges") or [], **({} if block is None else {"resources": block})}
        self.parts[part] = DataHubDraft(document)

    def _show_actors(self, actors: Mapping[str, Any]) -> None:
        if actors.get("allUsers"):
            self.audience, actors = EVERYBODY, {}
        elif EVERYBODY_EXCEPT in actors:
            self.audience, actors = EXCEPT, actors[EVERYBODY_EXCEPT] or {}
        else:
            self.audience = NAMED
        self.parts[ACTORS] = DataHubDraft({"actors": dict(actors)})

    def _compose_scope(self, part: str) -> dict[str, Any]:
        block = self.parts[part].block
        return {"privileges": self._list_privileges(part), **({} if block is None else {"resources": block})}

    def _list_privileges(self, part: str) -> list[str]:
        return list(self.parts[part].document.get("privileges") or ())

    def _compose_audience(self) -> dict[str, Any]:
        if self.audience == EVERYBODY:
            return {"allUsers": True}
        return {EVERYBODY_EXCEPT: self._compose_actors()} if self.audience == EXCEPT else self._compose_actors()

    def _compose_actors(self) -> dict[str, Any]:
        actors = {key: self.actors[key] for key in _LISTS if self.actors.get(key)}
        return actors | ({"allGroups": True} if self.actors.get("allGroups") else {})


def _select(data: QueryDict, part: str) -> QueryDict:
    """Return the fields of one part under the names that they have in a policy."""
    start = f"{part}-"
    fields = QueryDict(mutable=True)
    for name in data:
        if name.startswith(start):
            fields.setlist(name.removeprefix(start), data.getlist(name))
    return fields
