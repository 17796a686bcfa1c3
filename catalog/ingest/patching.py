"""Conversion of patches into writes: the stored document is read, patched, and validated like any written one."""

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime

from catalog.access import aspect_documents, view_permissions
from catalog.access.disclosure import find_refusal_as_absent
from catalog.aspects import register
from catalog.ingest import required_privileges
from catalog.ingest.audit_stamps import stamp
from catalog.ingest.json_patch.document_patch import DocumentTree, Patch, blank_document
from catalog.ingest.json_patch.keyed_arrays import PatchError
from catalog.ingest.validate import ChangeType, ValidatedProposal
from catalog.urns import GUARDED_TYPES, Urn
from policies.engine.errors import Problem
from policies.engine.families import datahub
from policies.engine.model import Actor
from policies.errors import Invalid
from policies.pdp import authorizer
from policies.pdp.access_requests import AccessRequest, ResourceRef

#: Maximum length of a patched document, in bytes: that of a request body.
MAX_DOCUMENT_BYTES = 16 * 1024 * 1024


def apply_patches(
    items: Sequence[ValidatedProposal], *, by: Actor, now: datetime, is_open: bool
) -> list[ValidatedProposal]:
    """Return the items with each patch as a write of the whole document, in the transaction that writes them.

    A later item sees the results of earlier ones. One query, plus those for the rows of people. Raises Invalid for
    impossible patches, but Forbidden to a caller who may not read the entities that its problems would describe.
    """
    patched_keys = {item.key for item in items if item.patch is not None}
    if not patched_keys:
        return list(items)
    texts: dict[tuple[str, str], str | None] = dict(aspect_documents.load_texts(keys=patched_keys))
    applied_items: list[ValidatedProposal] = []
    problems: list[tuple[Urn, Problem]] = []
    for item in items:
        applied_item = item
        if item.patch is not None:
            applied_item, item_problems = _apply_patch(item, item.patch, texts.get(item.key), stamp(by=by, at=now))
            problems += [(item.urn, problem) for problem in item_problems]
        applied_items.append(applied_item)
        if item.key in patched_keys:
            # A deletion leaves no document, even if the client sent one along.
            texts[item.key] = None if item.change is ChangeType.DELETE else applied_item.proposal.document
    if problems:
        _require_read({urn for urn, _ in problems}, by=by, is_open=is_open)
        raise Invalid([problem for _, problem in problems])
    return applied_items


def _apply_patch(
    item: ValidatedProposal, patch: Patch, stored_text: str | None, stamp_value: DocumentTree
) -> tuple[ValidatedProposal, list[Problem]]:
    """Return the item as a write, and its problems; `stamp_value` is the audit stamp for new parts."""
    document = blank_document(item.aspect, stamp_value) if stored_text is None else json.loads(stored_text)
    try:
        patched_document = patch.apply_to(document, stamp_value)
    except PatchError as error:
        return item, [Problem("patch.impossible", item.document_pointer, str(error))]
    text = (
        stored_text
        if stored_text is not None and patched_document == document
        else json.dumps(patched_document, ensure_ascii=False)
    )
    if len(text.encode()) > MAX_DOCUMENT_BYTES:
        detail = f"The document would be longer than {MAX_DOCUMENT_BYTES} bytes."
        return item, [Problem("patch.long", item.document_pointer, detail)]
    parsed_document, problems = register.read(item.aspect, text)
    proposal = replace(item.proposal, document=text, change=ChangeType.UPSERT)
    applied_item = replace(
        item,
        proposal=proposal,
        change=ChangeType.UPSERT,
        parsed_document=parsed_document,
        patch=None,
        is_patched=True,
        removed_paths=patch.removed_paths,
    )
    return applied_item, [_to_patch_problem(problem, item) for problem in problems]


def _to_patch_problem(problem: Problem, item: ValidatedProposal) -> Problem:
    return Problem(problem.code, item.document_pointer, f"With this patch, {problem.pointer or '/'}: {problem.detail}")


def _require_read(urns: Collection[Urn], *, by: Actor, is_open: bool) -> None:
    """Raise Forbidden when the actor may not read an entity: problems of a patch describe its document.

    For entities hidden by view authorization the refusal is that of creating them, as if they were not stored.
    """
    read_requirement = datahub.load_operation_groups()["entity.read"]
    guarded_entities = sorted((urn.text, urn.type) for urn in urns if not is_open or urn.type in GUARDED_TYPES)
    requests = [AccessRequest(read_requirement, ResourceRef(*entity)) for entity in guarded_entities]
    if refusal := authorizer.find_refusal(by=by, requests=requests):
        hidden_urns = view_permissions.find_hidden(urns=[urn for urn, _ in guarded_entities], by=by)
        create_requests = [
            required_privileges.build_create_request(urn)
            for urn in sorted(urns, key=lambda entity: entity.text)
            if urn.text in hidden_urns
        ]
        raise (
            find_refusal_as_absent(by=by, requests=create_requests, hidden_urns=hidden_urns) if hidden_urns else refusal
        )
