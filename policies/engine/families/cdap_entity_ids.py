"""What the names of CDAP entities say: their kind, and everything they lie in (rules/cdap.md CD-1, CD-20).

    instance > namespace > application > program
                         > artifact, stream, dataset and every kind the table does not list

A name is the names from the namespace down, joined by dots. A dataset is one of the platform `cdap`. Artifacts and
applications may be spelled with a version behind a further dot, as CDAP itself does; versions share one grant, so the
version is no part of the name.
"""

import re
from dataclasses import dataclass
from functools import cache

from policies.engine.families import vocabulary

INSTANCE_URN = "urn:li:instance:cdap"

INSTANCE, NAMESPACE, APPLICATION, PROGRAM, DATASET = "instance", "namespace", "application", "program", "dataset"
#: Kinds that others lie in.
PLACES = frozenset({INSTANCE, NAMESPACE, APPLICATION})
#: Kinds that no other family knows: a URN of one that is no CDAP name is a mistake.
OWN_KINDS = frozenset({NAMESPACE, "artifact", PROGRAM, "stream"})

#: Ends a pattern that stands for every entity whose URN begins as the pattern does (CD-5).
WILDCARD = "*"

_VERSIONED = frozenset({"artifact", APPLICATION})
_PREFIX = "urn:li:"
_KIND = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_PLATFORM = "(urn:li:dataPlatform:cdap,"
_ENVIRONMENT = re.compile(r"[A-Z][A-Z_]*")
# No blank, bracket or comma, which would end a URN elsewhere; no colon, so that no other URN is taken for a name.
_NAME = re.compile(r"[^\s.,:()*?%/]+")


@dataclass(frozen=True, slots=True)
class CdapName:
    """A CDAP entity as its URN names it: `urn` without a version, and `above` from its parent up to the instance."""

    urn: str
    kind: str
    above: tuple[str, ...]

    @property
    def parent(self) -> str | None:
        """The entity it lies in; None for the instance."""
        return self.above[0] if self.above else None

    @property
    def namespace(self) -> str | None:
        """The namespace it lies in; None for the instance and for a namespace, which is one."""
        return self.above[-2] if len(self.above) > 1 else None


@dataclass(frozen=True, slots=True)
class Pattern:
    """Every entity of a kind whose URN begins with `prefix`; `within` is the innermost entity all of them lie in."""

    urn: str
    kind: str
    prefix: str
    within: str


def read(urn: str) -> CdapName | None:
    """Return the CDAP entity that a URN names, None when it names none."""
    if urn == INSTANCE_URN:
        return CdapName(urn, INSTANCE, ())
    kind, name = _spelled(urn)
    parts = name.split(".") if name else []
    if not all(_NAME.fullmatch(part) for part in parts):
        return None
    if kind == NAMESPACE:
        return CdapName(urn, kind, (INSTANCE_URN,)) if len(parts) == 1 else None
    if len(parts) < 2:
        return None
    above = (f"{_PREFIX}{NAMESPACE}:{parts[0]}", INSTANCE_URN)
    if kind == PROGRAM:
        application = f"{_PREFIX}{APPLICATION}:{parts[0]}.{parts[1]}"
        return CdapName(urn, kind, (application, *above)) if len(parts) == 3 else None
    if kind in _VERSIONED:
        urn = f"{_PREFIX}{kind}:{parts[0]}.{parts[1]}"
    return CdapName(urn, kind, above)


def pattern(urn: str) -> Pattern | None:
    """Return the pattern that a URN with a `*` at the end of its name is, None for everything else.

    The short spelling `dataset:ns1.*` is one, too. A pattern is of one kind; the instance has nothing to choose from.
    """
    spelled = _long(urn)
    kind, name = _spelled(spelled)
    if not name.endswith(WILDCARD) or kind == INSTANCE:
        return None
    *whole, started = name.removesuffix(WILDCARD).split(".")
    deepest = {NAMESPACE: 0, PROGRAM: 2}.get(kind, 1)
    if len(whole) > deepest or not all(map(_NAME.fullmatch, whole)) or not _is_start(started):
        return None
    within = [INSTANCE_URN, f"{_PREFIX}{NAMESPACE}:{'.'.join(whole[:1])}", f"{_PREFIX}{APPLICATION}:{'.'.join(whole)}"]
    return Pattern(spelled, kind, spelled.partition(WILDCARD)[0], within[len(whole)])


def is_kind(kind: str) -> bool:
    """Whether CDAP entities may be of this kind; unlisted kinds are, types of other families are not."""
    return bool(_KIND.fullmatch(kind)) and len(kind) <= 64 and kind not in _foreign()


def _spelled(urn: str) -> tuple[str, str]:
    """Return kind and name as a URN spells them, two empty texts when it is of no CDAP kind."""
    kind, _, name = urn.removeprefix(_PREFIX).partition(":")
    if not urn.startswith(_PREFIX) or not is_kind(kind) or kind == INSTANCE:
        return "", ""
    if kind != DATASET:
        return kind, name
    name, comma, environment = name.removesuffix(")").partition(_PLATFORM)[2].rpartition(",")
    is_whole = urn == f"{_PREFIX}{DATASET}:{_PLATFORM}{name}{comma}{environment})"
    return (kind, name) if is_whole and _ENVIRONMENT.fullmatch(environment) else ("", "")


def _long(urn: str) -> str:
    """Return the URN of a short pattern; anything else as it is."""
    if urn.startswith(_PREFIX):
        return urn
    kind, _, name = urn.partition(":")
    return f"{_PREFIX}{kind}:{_PLATFORM}{name},PROD)" if kind == DATASET else f"{_PREFIX}{kind}:{name}"


def _is_start(text: str) -> bool:
    return not text or _NAME.fullmatch(text) is not None


@cache
def _foreign() -> frozenset[str]:
    return frozenset(vocabulary.read_table("cdap_operations")["foreign"]["kinds"])
