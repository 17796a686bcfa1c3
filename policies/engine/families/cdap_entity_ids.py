"""Names of CDAP entities, parsed into their kind and all their ancestors (rules/cdap.md CD-1, CD-20).

    instance > namespace > application > program
                         > artifact, stream, dataset and every kind the table does not list

A name is the names from the namespace down, joined by dots. A dataset is one of the platform `cdap`. Artifacts and
applications may be spelled with a version after a further dot, as CDAP itself does; versions share one grant, so the
version is no part of the name.
"""

import re
from dataclasses import dataclass
from functools import cache

from policies.engine.families import vocabulary

INSTANCE_URN = "urn:li:instance:cdap"

INSTANCE, NAMESPACE, APPLICATION, PROGRAM, DATASET = "instance", "namespace", "application", "program", "dataset"
#: Kinds that contain other entities.
CONTAINER_KINDS = frozenset({INSTANCE, NAMESPACE, APPLICATION})
#: Kinds that no other family has: a URN of one of these that is no CDAP name is a mistake.
OWN_KINDS = frozenset({NAMESPACE, "artifact", PROGRAM, "stream"})

#: Ends a pattern for every entity whose URN begins with the pattern (CD-5).
WILDCARD = "*"

_VERSIONED_KINDS = frozenset({"artifact", APPLICATION})
_URN_PREFIX = "urn:li:"
_KIND = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_PLATFORM = "(urn:li:dataPlatform:cdap,"
_ENVIRONMENT = re.compile(r"[A-Z][A-Z_]*")
# No blank, bracket or comma, which would end a URN elsewhere; no colon, so that no other URN is read as a name.
_NAME = re.compile(r"[^\s.,:()*?%/]+")


@dataclass(frozen=True, slots=True)
class CdapName:
    """A CDAP entity as its URN names it: `urn` without a version; `ancestors` from its parent up to the instance."""

    urn: str
    kind: str
    ancestors: tuple[str, ...]

    @property
    def parent(self) -> str | None:
        """The entity that contains it; None for the instance."""
        return self.ancestors[0] if self.ancestors else None

    @property
    def namespace(self) -> str | None:
        """The namespace that contains it; None for the instance and for a namespace itself."""
        return self.ancestors[-2] if len(self.ancestors) > 1 else None


@dataclass(frozen=True, slots=True)
class CdapPattern:
    """Every entity of a kind whose URN begins with `prefix`; `container` is the innermost one containing all."""

    urn: str
    kind: str
    prefix: str
    container: str


def parse(urn: str) -> CdapName | None:
    """Return the CDAP entity that a URN names, or None if it names none."""
    if urn == INSTANCE_URN:
        return CdapName(urn, INSTANCE, ())
    kind, name = _split_urn(urn)
    parts = name.split(".") if name else []
    if not all(_NAME.fullmatch(part) for part in parts):
        return None
    if kind == NAMESPACE:
        return CdapName(urn, kind, (INSTANCE_URN,)) if len(parts) == 1 else None
    if len(parts) < 2:
        return None
    ancestors = (f"{_URN_PREFIX}{NAMESPACE}:{parts[0]}", INSTANCE_URN)
    if kind == PROGRAM:
        application = f"{_URN_PREFIX}{APPLICATION}:{parts[0]}.{parts[1]}"
        return CdapName(urn, kind, (application, *ancestors)) if len(parts) == 3 else None
    if kind in _VERSIONED_KINDS:
        urn = f"{_URN_PREFIX}{kind}:{parts[0]}.{parts[1]}"
    return CdapName(urn, kind, ancestors)


def parse_pattern(urn: str) -> CdapPattern | None:
    """Return the pattern of a URN whose name ends with `*`, or None for any other text.

    The short spelling `dataset:ns1.*` is accepted. A pattern is of one kind; the instance has no patterns.
    """
    long_urn = _to_long_urn(urn)
    kind, name = _split_urn(long_urn)
    if not name.endswith(WILDCARD) or kind == INSTANCE:
        return None
    *whole_parts, last_part = name.removesuffix(WILDCARD).split(".")
    max_depth = {NAMESPACE: 0, PROGRAM: 2}.get(kind, 1)
    if len(whole_parts) > max_depth or not all(map(_NAME.fullmatch, whole_parts)) or not _is_name_start(last_part):
        return None
    containers = [
        INSTANCE_URN,
        f"{_URN_PREFIX}{NAMESPACE}:{'.'.join(whole_parts[:1])}",
        f"{_URN_PREFIX}{APPLICATION}:{'.'.join(whole_parts)}",
    ]
    return CdapPattern(long_urn, kind, long_urn.partition(WILDCARD)[0], containers[len(whole_parts)])


def is_kind(kind: str) -> bool:
    """Whether CDAP entities may be of this kind: also an unlisted one, but no type of another family."""
    return bool(_KIND.fullmatch(kind)) and len(kind) <= 64 and kind not in _load_foreign_kinds()


def _split_urn(urn: str) -> tuple[str, str]:
    """Return kind and name as a URN spells them, two empty texts if it is of no CDAP kind or is the instance."""
    kind, _, name = urn.removeprefix(_URN_PREFIX).partition(":")
    if not urn.startswith(_URN_PREFIX) or not is_kind(kind) or kind == INSTANCE:
        return "", ""
    if kind != DATASET:
        return kind, name
    name, comma, environment = name.removesuffix(")").partition(_PLATFORM)[2].rpartition(",")
    is_whole = urn == f"{_URN_PREFIX}{DATASET}:{_PLATFORM}{name}{comma}{environment})"
    return (kind, name) if is_whole and _ENVIRONMENT.fullmatch(environment) else ("", "")


def _to_long_urn(urn: str) -> str:
    """Return the URN of a short pattern; any URN unchanged."""
    if urn.startswith(_URN_PREFIX):
        return urn
    kind, _, name = urn.partition(":")
    return f"{_URN_PREFIX}{kind}:{_PLATFORM}{name},PROD)" if kind == DATASET else f"{_URN_PREFIX}{kind}:{name}"


def _is_name_start(text: str) -> bool:
    return not text or _NAME.fullmatch(text) is not None


@cache
def _load_foreign_kinds() -> frozenset[str]:
    return frozenset(vocabulary.read_table("cdap_operations")["foreign"]["kinds"])
