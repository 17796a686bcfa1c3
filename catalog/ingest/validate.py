"""Proposals as interfaces pass them in, and all validation that needs no database."""

import json
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
    """Kinds of change to an aspect: write, create it or its entity, patch, delete."""

    UPSERT = "UPSERT"
    CREATE = "CREATE"
    CREATE_ENTITY = "CREATE_ENTITY"
    PATCH = "PATCH"
    DELETE = "DELETE"


@dataclass(frozen=True, slots=True)
class Proposal:
    """One change to one aspect as it arrived.

    `document` and `system_metadata` are JSON text and are stored byte for byte; the document is None for DELETE, and
    the patch for PATCH (`json_patch`). `type` may be empty, else it must be that of the URN. With `is_optional` a
    CREATE of something existing is ignored instead of refused. `pointer` and `document_pointer` are JSON pointers to
    the proposal and its document in the payload; the defaults are `/<index>` and `/<index>/aspect`. With
    `keeps_unknown` the document is an edited stored one, whose unknown fields stay.
    """

    urn: str
    aspect: str
    document: str | None = None
    change: str = ChangeType.UPSERT
    type: str = ""
    system_metadata: str | None = None
    is_optional: bool = False
    pointer: str | None = None
    document_pointer: str | None = None
    keeps_unknown: bool = False


@dataclass(frozen=True, slots=True)
class ValidatedProposal:
    """A well-formed proposal; `parsed_document` is None for DELETE and PATCH, which has its `patch`.

    When a patch has become a write of the whole document, `is_patched` stays set, and `removed_paths` are those that it
    removed by name.
    """

    proposal: Proposal
    pointer: str
    urn: Urn
    change: ChangeType
    parsed_document: Mapping[str, Any] | None
    patch: Patch | None = None
    is_patched: bool = False
    removed_paths: frozenset[tuple[str, ...]] = frozenset()

    @property
    def aspect(self) -> str:
        """The name of the aspect."""
        return self.proposal.aspect

    @property
    def key(self) -> tuple[str, str]:
        """The key of the document: (URN, aspect name)."""
        return self.urn.text, self.proposal.aspect

    @property
    def document_pointer(self) -> str:
        """The JSON pointer to the document in the payload."""
        pointer = self.proposal.document_pointer
        return f"{self.pointer}/aspect" if pointer is None else pointer

    @property
    def is_removal_of_entity(self) -> bool:
        """Whether the deleted aspect is the key, which deletes the whole entity."""
        return self.change is ChangeType.DELETE and self.aspect == self.urn.key_aspect


def to_json_text(value: Any) -> str | None:
    """Return a member of a payload as JSON text; text and None stay."""
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def check(proposals: Sequence[Proposal]) -> list[ValidatedProposal]:
    """Return the parsed proposals in order. Raises Invalid with every problem of every one of them."""
    items: list[ValidatedProposal] = []
    problems: list[Problem] = []
    for index, proposal in enumerate(proposals):
        pointer = f"/{index}" if proposal.pointer is None else proposal.pointer
        proposal_problems = [
            *_check_name(proposal, pointer),
            *_check_urn(proposal, pointer),
            *_check_metadata(proposal, pointer),
        ]
        proposal_problems += _check_entity_type(proposal, pointer)
        change, change_problems = _check_change(proposal, pointer)
        content, content_problems = _check_content(proposal, change, pointer)
        proposal_problems += change_problems + content_problems
        if change is ChangeType.DELETE and not proposal_problems and _is_key_of_person(proposal):
            detail = "People, roles and policies are deleted as entities (in REST by action=delete), not by their key."
            proposal_problems = [Problem(errors.CHANGE_UNKNOWN, f"{pointer}/changeType", detail)]
        if not proposal_problems and change is not None:
            urn = urns.parse(proposal.urn)
            if isinstance(content, Patch):
                items.append(ValidatedProposal(proposal, pointer, urn, change, None, content))
            else:
                items.append(ValidatedProposal(proposal, pointer, urn, change, content))
        problems += proposal_problems
        if len(problems) > MAX_PROBLEMS:
            break
    if problems:
        raise Invalid(problems)
    return items


def _is_key_of_person(proposal: Proposal) -> bool:
    urn = urns.parse(proposal.urn)
    return urn.type in PEOPLE_TYPES and proposal.aspect == urn.key_aspect


def _check_name(proposal: Proposal, pointer: str) -> list[Problem]:
    if isinstance(proposal.aspect, str) and _ASPECT_NAME.fullmatch(proposal.aspect):
        return []
    detail = (
        "The name of an aspect has letters, digits, dots, hyphens and underscores, begins with a letter, at most 128."
    )
    return [Problem(errors.ASPECT_NAME, f"{pointer}/aspectName", detail)]


def _check_urn(proposal: Proposal, pointer: str) -> list[Problem]:
    problem = urns.find_problem(proposal.urn, f"{pointer}/entityUrn")
    if problem is not None:
        return [problem]
    entity_type = urns.parse(proposal.urn).type
    if proposal.type in ("", entity_type):
        return []
    detail = f"The URN is that of a {entity_type}."
    return [Problem(errors.TYPE_MISMATCH, f"{pointer}/entityType", detail)]


def _check_entity_type(proposal: Proposal, pointer: str) -> list[Problem]:
    """Return the problem of an aspect that the entity type may not have."""
    types = register.ENTITY_TYPES_BY_ASPECT.get(proposal.aspect) if isinstance(proposal.aspect, str) else None
    if types is None or not isinstance(proposal.urn, str) or urns.entity_type(proposal.urn) in types:
        return []
    detail = f"{proposal.aspect} is kept for {', '.join(types)} only."
    return [Problem(errors.TYPE_MISMATCH, f"{pointer}/aspectName", detail)]


def _check_metadata(proposal: Proposal, pointer: str) -> list[Problem]:
    if proposal.system_metadata is None:
        return []
    return errors.add_pointer_prefix(register.read("", proposal.system_metadata)[1], f"{pointer}/systemMetadata")


def _check_change(proposal: Proposal, pointer: str) -> tuple[ChangeType | None, list[Problem]]:
    try:
        return ChangeType(proposal.change), []
    except ValueError:
        detail = f"A change is one of {', '.join(ChangeType)}."
        return None, [Problem(errors.CHANGE_UNKNOWN, f"{pointer}/changeType", detail)]


def _check_content(
    proposal: Proposal, change: ChangeType | None, pointer: str
) -> tuple[Mapping[str, Any] | Patch | None, list[Problem]]:
    document_pointer = f"{pointer}/aspect" if proposal.document_pointer is None else proposal.document_pointer
    if change is ChangeType.DELETE or not isinstance(proposal.aspect, str):
        return None, []
    if change is ChangeType.PATCH:
        patch, problems = document_patch.read(proposal.aspect, proposal.document)
        return patch, errors.add_pointer_prefix(problems, document_pointer)
    document, problems = register.read(proposal.aspect, proposal.document, keeps_unknown=proposal.keeps_unknown)
    return document, errors.add_pointer_prefix(problems, document_pointer)
