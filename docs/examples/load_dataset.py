"""Writes one dataset with an owner and a tag through DataHub's own Python SDK."""

import os

from datahub.emitter.mce_builder import make_dataset_urn, make_group_urn, make_tag_urn
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.emitter.rest_emitter import DatahubRestEmitter
from datahub.metadata.schema_classes import (
    DatasetPropertiesClass,
    GlobalTagsClass,
    OwnerClass,
    OwnershipClass,
    OwnershipTypeClass,
    TagAssociationClass,
)

emitter = DatahubRestEmitter(gms_server=os.environ["DATAHUB_GMS_URL"], token=os.environ["DATAHUB_GMS_TOKEN"])
dataset = make_dataset_urn(platform="snowflake", name="tour.public.visits", env="PROD")
owner = OwnerClass(owner=make_group_urn("data-platform"), type=OwnershipTypeClass.TECHNICAL_OWNER)
for aspect in (
    DatasetPropertiesClass(name="visits", description="Who came by."),
    OwnershipClass(owners=[owner]),
    GlobalTagsClass(tags=[TagAssociationClass(tag=make_tag_urn("Tour"))]),
):
    emitter.emit(MetadataChangeProposalWrapper(entityUrn=dataset, aspect=aspect))
print(f"Wrote {dataset}")
