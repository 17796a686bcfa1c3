"""The warehouse as the owner of external roles: the role mapping check reads from its exports who holds which."""

from collections.abc import Collection, Mapping

from catalog.access import aspect_documents
from catalog.aspects.web_links import is_web_address
from catalog.external_roles.services import list_holders
from catalog.reports.queries import warehouse_access
from policies.requests.request_sources import AskedOfSource


class WarehouseSource:
    """External roles: the catalog declares their holders, and the newest export shows them."""

    def find_shown(self, *, expected: Collection[AskedOfSource]) -> list[AskedOfSource]:
        """Return those that the last run of the role mapping check shows, if it began after they were asked for."""
        run = warehouse_access.find_runs().mapping
        recent = [] if run is None else [entry for entry in expected if run.requested_at >= entry.since]
        if run is None or not recent:
            return []
        holders = warehouse_access.find_holders(
            run, people={entry.actor for entry in recent}, roles={entry.target for entry in recent}
        )
        return [entry for entry in recent if (entry.actor, entry.target) in holders]

    def load_declared(self, *, targets: Collection[str]) -> Mapping[str, Collection[str]]:
        """Return the holders that the catalog has of each external role."""
        documents = aspect_documents.load_documents(urns=list(targets))
        return {
            urn: list_holders(aspects["actors"].value) if "actors" in aspects else ()
            for urn, aspects in documents.items()
        }

    def find_address(self, *, target: str) -> str:
        """Return the address of the role for requests; '' where it has none, or one that may not become a link."""
        properties = aspect_documents.load_aspect(urn=target, name="roleProperties")
        address = "" if properties is None else properties.value.get("requestUrl") or ""
        return address if is_web_address(address) else ""


#: What the registry `request_sources` names.
SOURCE = WarehouseSource()
