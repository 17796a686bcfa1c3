"""What a door hands in, and the check of everything about it that needs no database."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from catalog import errors, urns
from catalog.aspects import register
from catalog.ingest.json_patch import document_patch
from catalog.ingest.json_patch.document_patch import Patch
from catalog.urns import PEOPLE_TYPES, Urn
from policies.engine.errors import MAX_PROBLEMS, Problem
from policies.errors import Invalid

_ASPECT_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,127}")


class ChangeType(StrEnum):
    """What a proposal does to its aspect: write it, if it or its whole entity is new, change it, or take it away."""

    UPSERT = "UPSERT"
    CREATE = "CREATE"
    CREATE_ENTITY = "CREATE_ENTITY"
    PATCH = "PATCH"
    DELETE = "DELETE"


@dataclass(frozen=True, slots=True)
class Proposal:
    """One change to one aspect as it arrived.

    `document` and `system_metadata` are JSON as text and are stored byte for byte; the document is None for DELETE, and
    what changes it for PATCH (`patches`). `type` may be left out, else it must be the one the URN names. With
    `is_optional` a CREATE of what is there already is passed over instead of refused. `place` and `document_place` are
    JSON pointers to the proposal and its document in what was sent; without them they are `/<index>` and
    `/<index>/aspect`. With `keeps_unknown` the document is made of a stored one, whose unknown fields stay.
    """

    urn: str
    aspect: str
    document: str | None = None
    change: str = ChangeType.UPSERT
    type: str = ""
    system_metadata: str | None = None
    is_optional: bool = False
    place: str | None = None
    document_place: str | None = None
    keeps_unknown: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """A proposal that is well-formed; `parsed` is its document, None for DELETE and PATCH, which has its `patch`.

    `is_patched` stays when a patch has become a write of the whole document.
    """

    proposal: Proposal
    place: str
    urn: Urn
    change: ChangeType
    parsed: Mapping[str, Any] | None
    patch: Patch | None = None
    is_patched: bool = False

    @property
    def aspect(self) -> str:
        """The name of the aspect."""
        return self.proposal.aspect

    @property
    def key(self) -> tuple[str, str]:
        """Which document this is about: (URN, aspect name)."""
        return self.urn.text, self.proposal.aspect

    @property
    def document_place(self) -> str:
        """Where the document stands in what was sent."""
        given = self.proposal.document_place
        return f"{self.place}/aspect" if given is None else given

    @property
    def is_removal_of_entity(self) -> bool:
        """Whether the aspect that goes is the key, and with it everything."""
        return self.change is ChangeType.DELETE and self.aspect == self.urn.key_aspect


def check(proposals: Sequence[Proposal]) -> list[Item]:
    """Return the proposals taken apart, in order. Raises Invalid with every problem of every one of them."""
    items: list[Item] = []
    problems: list[Problem] = []
    for index, proposal in enumerate(proposals):
        place = f"/{index}" if proposal.place is None else proposal.place
        found = [*_check_name(proposal, place), *_check_urn(proposal, place), *_check_metadata(proposal, place)]
        found += _check_bearer(proposal, place)
        change, refused = _check_change(proposal, place)
        content, wrong = _check_content(proposal, change, place)
        found += refused + wrong
        if change is ChangeType.DELETE and not found and _is_key_of_person(proposal):
            detail = "Users, groups, roles and policies are deleted as entities, not by their key."
            found = [Problem(errors.CHANGE_UNKNOWN, f"{place}/changeType", detail)]
        if not found and change is not None:
            urn = urns.parse(proposal.urn)
            if isinstance(content, Patch):
                items.append(Item(proposal, place, urn, change, None, content))
            else:
                items.append(Item(proposal, place, urn, change, content))
        problems += found
        if len(problems) > MAX_PROBLEMS:
            break
    if problems:
        raise Invalid(problems)
    return items


def _is_key_of_person(proposal: Proposal) -> bool:
    urn = urns.parse(proposal.urn)
    return urn.type in PEOPLE_TYPES and proposal.aspect == urn.key_aspect


def _check_name(proposal: Proposal, place: str) -> list[Problem]:
    if isinstance(proposal.aspect, str) and _ASPECT_NAME.fullmatch(proposal.aspect):
        return []
    detail = (
        "The name of an aspect has letters, digits, dots, hyphens and underscores, begins with a letter, at most 128."
    )
    return [Problem(errors.ASPECT_NAME, f"{place}/aspectName", detail)]


def _check_urn(proposal: Proposal, place: str) -> list[Problem]:
    found = urns.problem(proposal.urn, f"{place}/entityUrn")
    if found is not None:
        return [found]
    named = urns.parse(proposal.urn).type
    if proposal.type in ("", named):
        return []
    detail = f"The URN is that of a {named}."
    return [Problem(errors.TYPE_MISMATCH, f"{place}/entityType", detail)]


def _check_bearer(proposal: Proposal, place: str) -> list[Problem]:
    """Some aspects are kept for some types only."""
    types = register.BEARERS.get(proposal.aspect) if isinstance(proposal.aspect, str) else None
    if types is None or not isinstance(proposal.urn, str) or urns.type_of(proposal.urn) in types:
        return []
    detail = f"{proposal.aspect} is kept for {', '.join(types)} only."
    return [Problem(errors.TYPE_MISMATCH, f"{place}/aspectName", detail)]


def _check_metadata(proposal: Proposal, place: str) -> list[Problem]:
    if proposal.system_metadata is None:
        return []
    return errors.placed(register.read("", proposal.system_metadata)[1], f"{place}/systemMetadata")


def _check_change(proposal: Proposal, place: str) -> tuple[ChangeType | None, list[Problem]]:
    try:
        return ChangeType(proposal.change), []
    except ValueError:
        detail = f"A change is one of {', '.join(ChangeType)}."
        return None, [Problem(errors.CHANGE_UNKNOWN, f"{place}/changeType", detail)]


def _check_content(
    proposal: Proposal, change: ChangeType | None, place: str
) -> tuple[Mapping[str, Any] | Patch | None, list[Problem]]:
    inside = f"{place}/aspect" if proposal.document_place is None else proposal.document_place
    if change is ChangeType.DELETE or not isinstance(proposal.aspect, str):
        return None, []
    if change is ChangeType.PATCH:
        patch, problems = document_patch.read(proposal.aspect, proposal.document)
        return patch, errors.placed(problems, inside)
    document, problems = register.read(proposal.aspect, proposal.document, keeps_unknown=proposal.keeps_unknown)
    return document, errors.placed(problems, inside)
