"""Names in a question of a page that nothing is known by, or that do not fit: an error at the field, with similar ones.

Names that the viewer may not view count as unknown, and are never suggested.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from policies.engine import families, wording
from policies.engine.families import cdap
from policies.engine.families import datazone_resource_patterns as patterns
from policies.engine.model import SYSTEM_ACTOR
from policies.engine.selectors import ANY_SUBRESOURCE
from policies.http.pages.filter_forms import WhyForm
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.models.policy import POLICY_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.pdp import authorizer, display_names, explanations, known_privileges

#: Most names that an error suggests, and most unknown sub-resources that one names.
MAX_SUGGESTIONS = 3
#: Letters with which the names that are compared with an unknown one begin like it, and most of these.
_COMPARED_LETTERS, _MAX_COMPARED = 2, 200

#: Types of URNs that are no types of DataHub's entities.
_OWN_TYPES = frozenset(prefix.split(":")[2] for prefix in (USER_PREFIX, GROUP_PREFIX, ROLE_PREFIX, POLICY_PREFIX))


@dataclass(frozen=True, slots=True)
class UnknownName:
    """A name in a field of a question, in words, and similar names."""

    field_name: str
    sentence: str
    suggestions: tuple[str, ...]

    @property
    def error(self) -> str:
        """The text beside the field."""
        if not self.suggestions:
            return self.sentence
        labels = [suggestion.removeprefix(USER_PREFIX) for suggestion in self.suggestions]
        return f"{self.sentence} Did you mean {wording.join_words(labels, 'or')}?"


def find_unknown_names(form: WhyForm, viewer: str) -> list[UnknownName]:
    """Return the names of a valid question that nothing is known by, in the order of its fields.

    If all are known, those that do not fit together.
    """
    checks: Mapping[str, Callable[[str], UnknownName | None]] = {
        "actor": lambda urn: None if urn == viewer else _check_user(urn),
        "privilege": _check_privilege,
        "resource": _check_entity,
        "sub_resources": _check_entities,
        "type": _check_type,
    }
    checked_names = (
        check(value)
        for field_name, check in checks.items()
        if field_name in form.fields and (value := form.cleaned_data.get(field_name))
    )
    unknown_names = [unknown_name for unknown_name in checked_names if unknown_name is not None]
    return unknown_names or list(_find_mismatches(form))


def _find_mismatches(form: WhyForm) -> Iterable[UnknownName]:
    """Yield the field whose type is not that of the action in question."""
    privilege, resource = form.cleaned_data.get("privilege", ""), form.cleaned_data.get("resource", "")
    if resource.startswith("urn:"):
        problem = patterns.check_question(privilege, explanations.find_type(resource), "")
        if problem is not None:
            yield UnknownName("privilege", problem.detail, ())
    if type_name := form.cleaned_data.get("type"):
        problem = patterns.check_question(privilege, type_name, "")
        if problem is not None:
            yield UnknownName("type", problem.detail, tuple(sorted(patterns.list_action_types(privilege))))


def _check_user(urn: str) -> UnknownName | None:
    if urn == SYSTEM_ACTOR or (display_names.load_names(urns=[urn]) and not _is_hidden(urn)):
        return None
    sentence = f"There is no user {urn.removeprefix(USER_PREFIX)}."
    return UnknownName("actor", sentence, _filter_visible(display_names.find_similar_users(urn=urn)))


def _check_privilege(name: str) -> UnknownName | None:
    if known_privileges.is_known(name):
        return None
    return UnknownName("privilege", f"There is no privilege {name}.", known_privileges.suggest_names(name))


def _check_type(name: str) -> UnknownName | None:
    types = list_types()
    if name in types or authorizer.directory().search(text="", types=[name], limit=1):
        return None
    suggestions = difflib.get_close_matches(name, sorted(types), MAX_SUGGESTIONS)
    return UnknownName("type", f"There is no type {name}.", tuple(suggestions))


def _check_entity(urn: str) -> UnknownName | None:
    """Check a URN; a name that is no URN may mean several entities, which are offered elsewhere."""
    if not urn.startswith("urn:") or (explanations.is_known(urn=urn) and not _is_hidden(urn)):
        return None
    return UnknownName("resource", f"Nothing is known by the URN {urn}.", _suggest_urns(urn))


def _check_entities(urns: Iterable[str]) -> UnknownName | None:
    unknown_urns = [
        urn for urn in urns if urn != ANY_SUBRESOURCE and (_is_hidden(urn) or not explanations.is_known(urn=urn))
    ]
    if not unknown_urns:
        return None
    named_urns = unknown_urns[:MAX_SUGGESTIONS]
    words = wording.join_words(named_urns, "and", len(unknown_urns) - len(named_urns))
    suggestions = tuple(dict.fromkeys(name for urn in named_urns for name in _suggest_urns(urn)[:1]))
    return UnknownName("sub_resources", f"Nothing is known by {words}.", suggestions)


def list_types() -> frozenset[str]:
    """Return the types of entities that every installation knows."""
    datazone_types = (entity_type for kind in patterns.list_types() for entity_type in patterns.entity_types(kind))
    vocabularies = families.load_vocabularies().values()
    return _OWN_TYPES.union(
        datazone_types, cdap.list_kinds(), *(vocabulary.resource_types for vocabulary in vocabularies)
    )


def _is_hidden(urn: str) -> bool:
    return bool(authorizer.directory().find_hidden_urns(urns=[urn]))


def _filter_visible(urns: Iterable[str]) -> tuple[str, ...]:
    hidden_urns = authorizer.directory().find_hidden_urns(urns=list(urns))
    return tuple(urn for urn in urns if urn not in hidden_urns)[:MAX_SUGGESTIONS]


def _suggest_urns(urn: str) -> tuple[str, ...]:
    """Return visible entities of the same type with similar URNs, most similar first."""
    if urn.startswith(USER_PREFIX):
        return _filter_visible(display_names.find_similar_users(urn=urn))
    parts = urn.split(":", 3)
    # The name of what has a URN of several parts is the second; the first is its platform or tool.
    names = parts[-1].strip("()").split(",")
    words = re.findall(r"\w+", names[1] if len(names) > 1 else names[0])
    if len(parts) < 4 or not words:
        return ()
    entries = authorizer.directory().search(text=words[0][:_COMPARED_LETTERS], types=[parts[2]], limit=_MAX_COMPARED)
    return tuple(difflib.get_close_matches(urn, [entry.urn for entry in entries], MAX_SUGGESTIONS, 0.8))
