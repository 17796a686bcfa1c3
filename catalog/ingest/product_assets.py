"""Which assets are in a data product: put in from the product's page, and taken out from the page of an asset.

Putting assets in needs Manage Data Products on a domain of the product, taking one out Edit Data Product on the asset
(source 000); either way rights on the other side do not count.
"""

import json
from collections.abc import Callable, Collection, Sequence
from typing import Any

from django.utils import timezone

from catalog import urns
from catalog.access import aspect_documents, disclosure
from catalog.aspects.base import ASSET
from catalog.ingest import apply
from catalog.ingest.apply import Proposal
from catalog.ingest.audit_stamps import stamp
from catalog.models import Facet
from policies.engine import families
from policies.engine.model import Actor
from policies.errors import Invalid
from policies.models import Gate, open_write
from policies.pdp.authorizer import Ask, Asked

#: Most data products that assets are taken out of in one call.
MAX_PRODUCTS = 1_000

_ASPECT = "dataProductProperties"


def put_assets(*, product: str, assets: Sequence[str], by: Actor, door: str) -> None:
    """Put assets into a data product beside those that it has. Raises NotFound, Invalid and Forbidden."""

    def change(document: dict[str, Any]) -> None:
        listed = document.get("assets") or []
        known = {entry["destinationUrn"] for entry in listed}
        new = [{"destinationUrn": urn, "created": now, "lastModified": now} for urn in wanted if urn not in known]
        document["assets"] = [*listed, *new]

    with open_write(Gate.CATALOG):
        wanted, now = list(dict.fromkeys(assets)), stamp(by=by, at=timezone.now())
        for urn in (product, *wanted):
            disclosure.require_stored(urn=urn, by=by)
        _require([Ask(families.requirement("data_product.set_assets"), Asked(product, "dataProduct"))], by=by)
        _write([product], change, by=by, door=door)


def take_assets(*, assets: Sequence[str], by: Actor, door: str) -> None:
    """Take assets out of every data product. Raises NotFound, Invalid and Forbidden."""

    def change(document: dict[str, Any]) -> None:
        document["assets"] = [one for one in document.get("assets") or () if one["destinationUrn"] not in assets]

    with open_write(Gate.CATALOG):
        for urn in assets:
            disclosure.require_stored(urn=urn, by=by)
        rule = families.requirement("data_product.change_from_asset")
        _require([Ask(rule, Asked(urn, urns.type_of(urn))) for urn in assets], by=by)
        rows = Facet.objects.filter(field=ASSET, value__among=list(assets)).order_by("entity__urn")
        products = list(rows.values_list("entity__urn", flat=True).distinct()[: MAX_PRODUCTS + 1])
        if len(products) > MAX_PRODUCTS:
            detail = f"These are in more than {MAX_PRODUCTS} data products: name fewer."
            raise Invalid.one(code="list.long", pointer="/resourceUrns", detail=detail)
        _write(products, change, by=by, door=door)


def _require(asks: Sequence[Ask], *, by: Actor) -> None:
    if refusal := disclosure.find_refusal(by=by, asks=asks):
        raise refusal


def _write(products: Collection[str], change: Callable[[dict[str, Any]], None], *, by: Actor, door: str) -> None:
    stored = aspect_documents.texts(keys={(urn, _ASPECT) for urn in products})
    proposed = []
    for urn in products:
        text = stored.get((urn, _ASPECT))
        document: dict[str, Any] = {} if text is None else json.loads(text)
        change(document)
        # Fields of other clients stay as they are.
        proposed.append(Proposal(urn, _ASPECT, json.dumps(document, ensure_ascii=False), keeps_unknown=True))
    if proposed:
        apply.apply(proposals=proposed, by=by, door=door)
