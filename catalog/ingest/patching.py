"""Patches on their way to becoming writes: what is stored is read, patched, and checked like anything written."""

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime

from catalog.access import aspect_documents, view_permissions
from catalog.access.disclosure import find_refusal_as_absent
from catalog.aspects import register
from catalog.ingest import required_privileges
from catalog.ingest.audit_stamps import stamp
from catalog.ingest.json_patch.document_patch import Document, Patch, blank
from catalog.ingest.json_patch.keyed_arrays import Impossible
from catalog.ingest.validate import ChangeType, Item
from catalog.urns import PEOPLE_TYPES, Urn
from policies.engine.errors import Problem
from policies.engine.families import datahub
from policies.engine.model import Actor
from policies.errors import Invalid
from policies.pdp import authorizer
from policies.pdp.authorizer import Ask, Asked

#: Longest document that patches may make of one, in bytes: what a body can bring at once.
LONGEST = 16 * 1024 * 1024


def settled(items: Sequence[Item], *, by: Actor, now: datetime, is_open: bool) -> list[Item]:
    """Return the items with each patch as a write of the whole document, in the transaction that writes them.

    A later item meets what the earlier ones made. One query, and those for the rows of people. Raises Invalid for what
    cannot be patched, and Forbidden instead to whoever may not read what the refusal would speak of.
    """
    patched = {item.key for item in items if item.patch is not None}
    if not patched:
        return list(items)
    texts: dict[tuple[str, str], str | None] = dict(aspect_documents.texts(keys=patched))
    found: list[Item] = []
    problems: list[tuple[Urn, Problem]] = []
    for item in items:
        one = item
        if item.patch is not None:
            one, wrong = _settled(item, item.patch, texts.get(item.key), stamp(by=by, at=now))
            problems += [(item.urn, problem) for problem in wrong]
        found.append(one)
        if item.key in patched:
            # What a client sends along with a deletion is not what is left.
            texts[item.key] = None if item.change is ChangeType.DELETE else one.proposal.document
    if problems:
        _require_reading({urn for urn, _ in problems}, by=by, is_open=is_open)
        raise Invalid([problem for _, problem in problems])
    return found


def _settled(item: Item, patch: Patch, before: str | None, made: Document) -> tuple[Item, list[Problem]]:
    """Return the item as a write, and what is wrong with it; `made` stamps what the patch has to make."""
    document = blank(item.aspect, made) if before is None else json.loads(before)
    try:
        after = patch.applied_to(document, made)
    except Impossible as error:
        return item, [Problem("patch.impossible", item.document_place, str(error))]
    text = before if before is not None and after == document else json.dumps(after, ensure_ascii=False)
    if len(text.encode()) > LONGEST:
        detail = f"The document would be longer than {LONGEST} bytes."
        return item, [Problem("patch.long", item.document_place, detail)]
    parsed, problems = register.read(item.aspect, text)
    proposal = replace(item.proposal, document=text, change=ChangeType.UPSERT)
    written = replace(item, proposal=proposal, change=ChangeType.UPSERT, parsed=parsed, patch=None, is_patched=True)
    return written, [_as_patched(problem, item) for problem in problems]


def _as_patched(problem: Problem, item: Item) -> Problem:
    return Problem(problem.code, item.document_place, f"With this patch, {problem.pointer or '/'}: {problem.detail}")


def _require_reading(urns: Collection[Urn], *, by: Actor, is_open: bool) -> None:
    """Let nobody learn, from what is wrong with a patch, of a document that they may not read.

    Under view authorization they are told what making the entity needs, as where nothing is stored.
    """
    reading = datahub.groups()["entity.read"]
    guarded = sorted((urn.text, urn.type) for urn in urns if not (is_open and urn.type not in PEOPLE_TYPES))
    asks = [Ask(reading, Asked(*one)) for one in guarded]
    if refusal := authorizer.find_refusal(by=by, asks=asks):
        unseen = view_permissions.hidden(urns=[urn for urn, _ in guarded], by=by)
        making = [
            required_privileges.creation(urn) for urn in sorted(urns, key=lambda one: one.text) if urn.text in unseen
        ]
        raise find_refusal_as_absent(by=by, asks=making, unseen=unseen) if unseen else refusal
