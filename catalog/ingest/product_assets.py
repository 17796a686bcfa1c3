"""Assets of data products: added from the page of a product, removed from the page of an asset.

Adding assets needs Manage Data Products on a domain of the product, removing one needs Edit Data Product on the asset
(source 000); privileges on the other side do not count.
"""

import json
from collections.abc import Callable, Collection, Sequence
from typing import Any

from django.utils import timezone

from catalog import urns
from catalog.access import aspect_documents, disclosure
from catalog.aspects.facet_fields import ASSET
from catalog.ingest import apply
from catalog.ingest.apply import Proposal
from catalog.ingest.audit_stamps import stamp
from catalog.models import Facet
from policies.engine import families
from policies.engine.model import Actor
from policies.errors import Invalid
from policies.models import Gate, open_write
from policies.pdp.access_requests import AccessRequest, ResourceRef

#: Maximum number of data products from which one call removes assets.
MAX_PRODUCTS = 1_000

_PRODUCT_ASPECT = "dataProductProperties"


def add_assets(*, product: str, assets: Sequence[str], by: Actor, channel: str) -> None:
    """Add assets to a data product. Raises NotFound, Invalid and Forbidden."""

    def change(document: dict[str, Any]) -> None:
        entries = document.get("assets") or []
        existing_urns = {entry["destinationUrn"] for entry in entries}
        new_entries = [
            {"destinationUrn": urn, "created": now, "lastModified": now}
            for urn in asset_urns
            if urn not in existing_urns
        ]
        document["assets"] = [*entries, *new_entries]

    with open_write(Gate.CATALOG):
        asset_urns, now = list(dict.fromkeys(assets)), stamp(by=by, at=timezone.now())
        for urn in (product, *asset_urns):
            disclosure.require_stored(urn=urn, by=by)
        _require(
            [AccessRequest(families.get_requirement("data_product.set_assets"), ResourceRef(product, "dataProduct"))],
            by=by,
        )
        _write([product], change, by=by, channel=channel)


def remove_assets(*, assets: Sequence[str], by: Actor, channel: str) -> None:
    """Remove assets from every data product. Raises NotFound, Invalid and Forbidden."""

    def change(document: dict[str, Any]) -> None:
        document["assets"] = [edge for edge in document.get("assets") or () if edge["destinationUrn"] not in assets]

    with open_write(Gate.CATALOG):
        for urn in assets:
            disclosure.require_stored(urn=urn, by=by)
        requirement = families.get_requirement("data_product.change_from_asset")
        _require([AccessRequest(requirement, ResourceRef(urn, urns.entity_type(urn))) for urn in assets], by=by)
        rows = Facet.objects.filter(field=ASSET, value__among=list(assets)).order_by("entity__urn")
        products = list(rows.values_list("entity__urn", flat=True).distinct()[: MAX_PRODUCTS + 1])
        if len(products) > MAX_PRODUCTS:
            detail = f"These are in more than {MAX_PRODUCTS} data products: name fewer."
            raise Invalid.from_problem(code="list.long", pointer="/resourceUrns", detail=detail)
        _write(products, change, by=by, channel=channel)


def _require(requests: Sequence[AccessRequest], *, by: Actor) -> None:
    if refusal := disclosure.find_refusal(by=by, requests=requests):
        raise refusal


def _write(products: Collection[str], change: Callable[[dict[str, Any]], None], *, by: Actor, channel: str) -> None:
    stored_texts = aspect_documents.load_texts(keys={(urn, _PRODUCT_ASPECT) for urn in products})
    product_proposals = []
    for urn in products:
        text = stored_texts.get((urn, _PRODUCT_ASPECT))
        document: dict[str, Any] = {} if text is None else json.loads(text)
        change(document)
        # Fields of other clients stay as they are.
        product_proposals.append(
            Proposal(urn, _PRODUCT_ASPECT, json.dumps(document, ensure_ascii=False), keeps_unknown=True)
        )
    if product_proposals:
        apply.apply(proposals=product_proposals, by=by, channel=channel)
