"""Assets of data products: added from the page of a product, added and removed from the page of an asset.

From the page of a product it needs Manage Data Products on a domain of the product, from the page of an asset Edit Data
Product on the asset (source 000); privileges on the other side do not count.
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
    """Add assets to a data product, from its page. Raises NotFound, Invalid and Forbidden."""
    with open_write(Gate.CATALOG):
        asset_urns = list(dict.fromkeys(assets))
        for urn in (product, *asset_urns):
            disclosure.require_stored(urn=urn, by=by)
        _require(
            [AccessRequest(families.get_requirement("data_product.set_assets"), ResourceRef(product, "dataProduct"))],
            by=by,
        )
        _write([product], _build_addition(asset_urns, by), by=by, channel=channel)


def add_to_products(*, products: Sequence[str], assets: Sequence[str], by: Actor, channel: str) -> None:
    """Add assets to data products, from the pages of the assets. Raises NotFound, Invalid and Forbidden."""
    with open_write(Gate.CATALOG):
        asset_urns = list(dict.fromkeys(assets))
        _require_on_assets([*products, *asset_urns], asset_urns, by=by)
        _write(list(dict.fromkeys(products)), _build_addition(asset_urns, by), by=by, channel=channel)


def remove_from_products(*, products: Sequence[str], assets: Sequence[str], by: Actor, channel: str) -> None:
    """Remove assets from these data products. Raises NotFound, Invalid and Forbidden."""
    with open_write(Gate.CATALOG):
        _require_on_assets([*products, *assets], assets, by=by)
        _write(list(dict.fromkeys(products)), _build_removal(assets), by=by, channel=channel)


def remove_assets(*, assets: Sequence[str], by: Actor, channel: str) -> None:
    """Remove assets from every data product. Raises NotFound, Invalid and Forbidden."""
    with open_write(Gate.CATALOG):
        _require_on_assets(assets, assets, by=by)
        rows = Facet.objects.filter(field=ASSET, value__among=list(assets)).order_by("entity__urn")
        products = list(rows.values_list("entity__urn", flat=True).distinct()[: MAX_PRODUCTS + 1])
        if len(products) > MAX_PRODUCTS:
            detail = f"These are in more than {MAX_PRODUCTS} data products: name fewer."
            raise Invalid.from_problem(code="list.long", pointer="/resourceUrns", detail=detail)
        _write(products, _build_removal(assets), by=by, channel=channel)


def _build_addition(assets: Sequence[str], by: Actor) -> Callable[[dict[str, Any]], None]:
    now = stamp(by=by, at=timezone.now())

    def change(document: dict[str, Any]) -> None:
        entries = document.get("assets") or []
        existing_urns = {entry["destinationUrn"] for entry in entries}
        new_entries = [
            {"destinationUrn": urn, "created": now, "lastModified": now} for urn in assets if urn not in existing_urns
        ]
        document["assets"] = [*entries, *new_entries]

    return change


def _build_removal(assets: Collection[str]) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        document["assets"] = [edge for edge in document.get("assets") or () if edge["destinationUrn"] not in assets]

    return change


def _require_on_assets(stored_urns: Sequence[str], assets: Sequence[str], *, by: Actor) -> None:
    """Raise NotFound for an entity that is not stored, Forbidden unless the caller may choose the products of these."""
    for urn in stored_urns:
        disclosure.require_stored(urn=urn, by=by)
    requirement = families.get_requirement("data_product.change_from_asset")
    _require([AccessRequest(requirement, ResourceRef(urn, urns.entity_type(urn))) for urn in assets], by=by)


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
        if text is not None and document == json.loads(text):
            continue
        # Fields of other clients stay as they are.
        product_proposals.append(
            Proposal(urn, _PRODUCT_ASPECT, json.dumps(document, ensure_ascii=False), keeps_unknown=True)
        )
    if product_proposals:
        apply.apply(proposals=product_proposals, by=by, channel=channel)
