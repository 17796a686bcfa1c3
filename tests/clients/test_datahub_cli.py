"""What DataHub's command line does: single aspects, an ingest from a file, users and groups, data products."""

import json

import pytest

from tests.clients.test_datahub_sdk import GRAPH


@pytest.mark.drawn(2)
def test_put_get_and_delete_of_the_command_line(cli, tmp_path):
    urn = "urn:li:role:from-the-cli"
    document = tmp_path / "role.json"
    document.write_text(json.dumps({"name": "From the CLI", "type": "READ"}))
    cli("put", "--urn", urn, "-a", "roleProperties", "-d", str(document))
    actors = tmp_path / "actors.json"
    actors.write_text(json.dumps({"users": [], "groups": []}))
    cli("put", "--urn", urn, "-a", "actors", "-d", str(actors), "--run-id", "a-run")
    shown = cli("get", "--urn", urn, "-a", "roleProperties")
    assert "From the CLI" in shown
    detailed = json.loads(cli("get", "--urn", urn, "--details"))
    assert detailed["actors"]["systemMetadata"]["runId"] == "a-run"
    assert "true" in cli("exists", "--urn", urn).lower()
    cli("delete", "--urn", urn, "--soft", "--force")
    assert json.loads(cli("get", "--urn", urn, "-a", "status"))["status"]["removed"] is True
    cli("delete", "--urn", urn, "--hard", "--force")
    assert "false" in cli("exists", "--urn", urn).lower()


@pytest.mark.drawn(2)
@pytest.mark.parametrize("mode", ["ASYNC_BATCH", "ASYNC", "SYNC"])
def test_an_ingest_from_a_file(cli, site, datahub, tmp_path, mode):
    urns = [f"urn:li:dataset:(urn:li:dataPlatform:hive,{mode}.{datahub.version}.{n},PROD)" for n in range(250)]
    told = [
        {
            "entityType": "dataset",
            "entityUrn": urn,
            "changeType": "UPSERT",
            "aspectName": "datasetProperties",
            "aspect": {"json": {"name": urn, "customProperties": {}, "tags": []}},
        }
        for urn in urns
    ]
    (tmp_path / "told.json").write_text(json.dumps(told))
    server = {"server": site.address, "token": site.token, "mode": mode}
    source = {"type": "file", "config": {"path": str(tmp_path / "told.json")}}
    recipe = {"source": source, "sink": {"type": "datahub-rest", "config": server}}
    (tmp_path / "recipe.yml").write_text(json.dumps(recipe))
    assert "Pipeline finished successfully" in cli("ingest", "-c", str(tmp_path / "recipe.yml"))
    listed = f"graph.list_all_entity_urns('dataset', 0, 10000)\nurns = {urns!r}"
    lost = f"listed = {listed}\nprint(json.dumps([urn for urn in urns if urn not in listed]))"
    assert datahub.program(GRAPH + lost, site=site, home=tmp_path) == []


def test_users_and_groups_of_the_command_line(cli, tmp_path):
    user = {"id": "jo@example.com", "display_name": "Jo", "email": "jo@example.com", "groups": ["crew@example.com"]}
    group = {
        "id": "crew@example.com",
        "display_name": "Crew",
        "members": ["jo@example.com"],
        "owners": ["jo@example.com"],
    }
    (tmp_path / "user.yml").write_text(json.dumps([user]))
    (tmp_path / "group.yml").write_text(json.dumps(group))
    cli("user", "upsert", "-f", str(tmp_path / "user.yml"))
    cli("group", "upsert", "-f", str(tmp_path / "group.yml"))
    shown = json.loads(cli("get", "--urn", "urn:li:corpuser:jo@example.com"))
    assert shown["groupMembership"]["groups"] == ["urn:li:corpGroup:crew@example.com"]
    assert (
        json.loads(cli("get", "--urn", "urn:li:corpGroup:crew@example.com"))["corpGroupInfo"]["displayName"] == "Crew"
    )


PRODUCT_FILE = {
    "domain": "urn:li:domain:from-the-cli",
    "display_name": "Pets",
    "description": "Dogs",
    "tags": ["urn:li:tag:pii"],
    "terms": ["urn:li:glossaryTerm:Classification.Personal"],
    "owners": [{"id": "urn:li:corpuser:jo", "type": "BUSINESS_OWNER"}],
    "properties": {"level": "gold"},
    "external_url": "https://pets.example",
}


@pytest.mark.drawn(2)
def test_data_products_of_the_command_line(cli, datahub, tmp_path):
    name = f"pets-{datahub.version}"
    product, tables = (
        f"urn:li:dataProduct:{name}",
        [f"urn:li:dataset:(urn:li:dataPlatform:hive,{name}.{part},PROD)" for part in ("dogs", "cats")],
    )

    def put(urn, aspect, document):
        (tmp_path / "aspect.json").write_text(json.dumps(document))
        cli("put", "--urn", urn, "-a", aspect, "-d", str(tmp_path / "aspect.json"))

    def write(**changes):
        (tmp_path / "product.yml").write_text(json.dumps({"id": name, **PRODUCT_FILE, **changes}))
        return str(tmp_path / "product.yml")

    put("urn:li:domain:from-the-cli", "domainProperties", {"name": "From the CLI"})
    for table in tables:
        put(table, "datasetProperties", {"name": table})

    assert "Update succeeded" in cli("dataproduct", "upsert", "-f", write(assets=tables[:1]))
    stored = json.loads(cli("get", "--urn", product))
    assert stored["dataProductProperties"]["name"] == "Pets"
    assert [one["destinationUrn"] for one in stored["dataProductProperties"]["assets"]] == tables[:1]
    assert stored["domains"] == {"domains": ["urn:li:domain:from-the-cli"]}

    # Of a product that is there its properties are patched.
    changed = write(assets=tables, description="Dogs and cats")
    assert "Update needed" in cli("dataproduct", "diff", "-f", changed)
    assert "Update succeeded" in cli("dataproduct", "upsert", "-f", changed)
    stored = json.loads(cli("get", "--urn", product))
    assert [one["destinationUrn"] for one in stored["dataProductProperties"]["assets"]] == tables
    assert stored["dataProductProperties"]["description"] == "Dogs and cats"
    assert "Dogs and cats" in cli("dataproduct", "get", "--urn", product)
    assert "Update succeeded" in cli("dataproduct", "update", "-f", write(assets=tables[1:]))

    cli("dataproduct", "delete", "--urn", product)
    assert json.loads(cli("get", "--urn", product, "-a", "status"))["status"]["removed"] is True
    cli("dataproduct", "delete", "--urn", product, "--hard")
    assert "false" in cli("exists", "--urn", product).lower()
