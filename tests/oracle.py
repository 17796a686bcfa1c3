"""A naive judge of access questions: reads raw documents and follows the prose, step by step.

It shares no code with the product and skips every optimisation, so that it can judge the engines. It must never become
clever. Rules: rules/datahub.md sections a and c, and the policies guide (source 000), cited as "a.2" and "guide".

A world is plain data:

    users          [urn]                        suspended   [urn]
    groups         [urn]
    memberships    [[user, group]]
    roles          [[user or group, role]]
    entities       {urn: {"type": str, "owners": [[actor, ownership type or ""]], "domains": [urn], "containers": [urn],
                          "terms": [urn], "tags": [urn], "instances": [urn], "subjects": [urn],
                          "properties": {name: [text]}}}
    parents        {node: parent node}          of domains, containers, terms and term groups
    known          {user: {name: [text]}}       properties of users, as they act
    action         {name: [text]}               properties of what is done, in every question

Policies are a list of pairs (id, document), where a document is a published dataHubPolicyInfo. DataHub has no deny, so
a world that needs one wraps it: {"effect": "deny", "document": {...}}.
"""

# Plain loops and long ladders are the point here: each step can be laid beside the sentence it follows.
# ruff: noqa: C901, PERF401, SIM110, RUF005

SYSTEM_ACTOR = "urn:li:corpuser:__datahub_system"

#: The id under which the implicit policy of a.1 ("View Self") is reported.
SELF_POLICY = "self"

SYSTEM_MANAGEMENT = [
    "RESTORE_INDICES_PRIVILEGE",
    "GET_TIMESERIES_INDEX_SIZES_PRIVILEGE",
    "TRUNCATE_TIMESERIES_INDEX_PRIVILEGE",
    "GET_ES_TASK_STATUS_PRIVILEGE",
    "SET_WRITEABLE_PRIVILEGE",
    "APPLY_RETENTION_PRIVILEGE",
    "GET_ANALYTICS_PRIVILEGE",
    "ES_EXPLAIN_QUERY_PRIVILEGE",
    "PRODUCE_PLATFORM_EVENT_PRIVILEGE",
]


# ---- The questions ----


def authorize(world, policies, actor, privilege, resource=None, sub_resources=(), resource_type=None):
    """May the actor use the privilege? Returns (yes or no, ids of the policies that decided).

    Without `resource` but with `resource_type` the question is about a type alone (a.3).
    """
    if actor == SYSTEM_ACTOR:
        return True, []
    if actor in world.get("suspended", []):
        return False, []
    allows = []
    denies = []
    for identifier, raw in list(policies) + [(SELF_POLICY, self_policy(actor))]:
        effect, document = opened(raw)
        if not lists(document, privilege):
            continue
        if not applies(world, document, actor, resource, sub_resources, resource_type):
            continue
        if effect == "deny":
            denies.append(identifier)
        else:
            allows.append(identifier)
    if denies:
        return False, sorted(set(denies))
    return len(allows) > 0, sorted(set(allows))


def authorize_any_of(world, policies, actor, any_of, resource=None, sub_resources=(), resource_type=None):
    """Disjunction of conjunctions (a.7). An empty conjunction is a refusal, an empty disjunction too.

    The system actor is allowed before anything else is read (a.1).
    """
    if actor == SYSTEM_ACTOR:
        return True
    for privileges in any_of:
        answers = []
        for privilege in privileges:
            answers.append(authorize(world, policies, actor, privilege, resource, sub_resources, resource_type)[0])
        if len(answers) > 0 and all(answers):
            return True
    return False


def granted_privileges(world, policies, actor, resource=None, resource_type=None):
    """Everything stored policies let the actor do to the resource, sorted; without sub-resources (a.8)."""
    listed = []
    for _, raw in policies:
        listed.extend(privileges_of(opened(raw)[1]))
    granted = []
    for privilege in sorted(set(listed)):
        _, deciding = authorize(world, policies, actor, privilege, resource, (), resource_type)
        stored = [identifier for identifier in deciding if identifier != SELF_POLICY]
        allowed, _ = authorize(world, policies, actor, privilege, resource, (), resource_type)
        if allowed and stored:
            granted.append(privilege)
    return granted


def obstacles(world, policies, actor, resource=None, resource_type=None):
    """Why each stored policy does not apply, as "name: reason" in order (a.8); the first reason that is true counts."""
    found = []
    for identifier, document in policies:
        if document.get("state") != "ACTIVE":
            found.append(f"{identifier}: inactive")
        elif not resource_matches(world, document, resource, resource_type, actor):
            found.append(f"{identifier}: resource")
        elif not actor_matches(world, document, actor, resource):
            found.append(f"{identifier}: actor")
    return sorted(found)


def who(world, policies, privilege, resource=None, resource_type=None):
    """Whom stored policies name for the privilege on the resource (a.8). Groups and roles are not expanded.

    Only for policies without deny: a deny has no place in this answer.
    """
    all_users = all_groups = False
    users: set[str] = set()
    groups: set[str] = set()
    roles: set[str] = set()
    for _, raw in policies:
        effect, document = opened(raw)
        if effect == "deny":
            raise ValueError("who() is for policies that allow")
        if document.get("state") != "ACTIVE" or not lists(document, privilege):
            continue
        if hangs_on_actor(document) or not resource_matches(world, document, resource, resource_type):
            continue
        actors = document.get("actors") or {}
        all_users = all_users or bool(actors.get("allUsers"))
        all_groups = all_groups or bool(actors.get("allGroups"))
        users.update(actors.get("users") or [])
        groups.update(actors.get("groups") or [])
        roles.update(actors.get("roles") or [])
        for owner in owners_spoken_to(world, document, resource):
            if owner.startswith("urn:li:corpGroup:"):
                groups.add(owner)
            else:
                users.add(owner)
    return {
        "all_users": all_users,
        "all_groups": all_groups,
        "users": sorted(users),
        "groups": sorted(groups),
        "roles": sorted(roles),
    }


def what(world, policies, actor, privilege, resource_type=None):
    """Every stored entity (of one type) that the actor may use the privilege on, sorted."""
    found = []
    for urn in sorted(world["entities"]):
        if resource_type is not None and world["entities"][urn]["type"] != resource_type:
            continue
        if authorize(world, policies, actor, privilege, urn)[0]:
            found.append(urn)
    return found


# ---- One policy ----


def opened(raw):
    if "document" in raw:
        return raw["effect"], raw["document"]
    return "allow", raw


def self_policy(actor):
    """What everybody may do to the own user entity, without any stored policy (a.1)."""
    return {
        "type": "METADATA",
        "state": "ACTIVE",
        "privileges": ["VIEW_ENTITY_PAGE", "GET_ENTITY_PRIVILEGE", "EDIT_ENTITY", "DELETE_ENTITY"],
        "actors": {"users": [actor]},
        "resources": {"filter": {"criteria": [{"field": "URN", "condition": "EQUALS", "values": [actor]}]}},
    }


def privileges_of(document):
    """The privileges a document lists, and the two implications of the guide."""
    privileges = list(document.get("privileges") or [])
    if "VIEW_ENTITY_PAGE" in privileges:
        privileges.append("VIEW_ENTITY")
    if "MANAGE_SYSTEM_OPERATIONS" in privileges:
        privileges.extend(SYSTEM_MANAGEMENT)
    return privileges


def lists(document, privilege):
    """Whether the document grants the privilege by name, or by one of the two implications."""
    listed = document.get("privileges") or []
    if privilege in listed:
        return True
    if privilege == "VIEW_ENTITY":
        return "VIEW_ENTITY_PAGE" in listed
    if privilege in SYSTEM_MANAGEMENT:
        return "MANAGE_SYSTEM_OPERATIONS" in listed
    return False


def applies(world, document, actor, resource, sub_resources, resource_type):
    """Whether everything but the privilege fits (a.1). Only the state ACTIVE grants."""
    if document.get("state") != "ACTIVE":
        return False
    if not actor_matches(world, document, actor, resource):
        return False
    if not resource_matches(world, document, resource, resource_type, actor):
        return False
    return sub_resources_pass(world, document, sub_resources)


# ---- Actors (a.2) ----


def groups_of(world, actor):
    return [group for user, group in world.get("memberships", []) if user == actor]


def roles_of(world, actor):
    """Roles held directly, and those of the actor's groups: one hop."""
    held = []
    for holder, role in world.get("roles", []):
        if holder == actor or holder in groups_of(world, actor):
            held.append(role)
    return held


def actor_matches(world, document, actor, resource):
    """Any one form is enough; empty and absent lists match nobody."""
    actors = document.get("actors") or {}
    if actors.get("allUsers"):
        return True
    if actor in (actors.get("users") or []):
        return True
    groups = groups_of(world, actor)
    if actors.get("allGroups") and len(groups) > 0:
        return True
    for group in groups:
        if group in (actors.get("groups") or []):
            return True
    for role in roles_of(world, actor):
        if role in (actors.get("roles") or []):
            return True
    for owner in owners_spoken_to(world, document, resource):
        if owner == actor or owner in groups:
            return True
    return False


def owners_spoken_to(world, document, resource):
    """The owners of the resource that the policy speaks to.

    Source 001: resourceOwners "only applies to policies of type 'Metadata', which have a resource associated". No
    types means any type, an empty list nobody, and an entry without a type satisfies no list.
    """
    actors = document.get("actors") or {}
    if not actors.get("resourceOwners") or not resource or document.get("type") == "PLATFORM":
        return []
    types = actors.get("resourceOwnersTypes")
    spoken_to = []
    for owner, owner_type in entity(world, resource).get("owners", []):
        if types is None or (owner_type != "" and owner_type in types):
            spoken_to.append(owner)
    return spoken_to


# ---- Resources (a.3, a.4) ----


def resource_matches(world, document, resource, resource_type, actor=None):
    if document.get("type") == "PLATFORM":
        return True
    block = document.get("resources")
    if block is None:
        return True
    if not resource and not resource_type:
        return False
    return passes_all(world, criteria_of(block), resource, resource_type, actor)


def criteria_of(block):
    """The criteria of a resource block; the deprecated fields are read only when there is no filter."""
    if block.get("filter") is not None:
        return block["filter"].get("criteria") or []
    criteria = []
    if block.get("type") is not None:
        criteria.append({"field": "TYPE", "values": [block["type"]]})
    if block.get("resources") is not None and not block.get("allResources"):
        criteria.append({"field": "URN", "values": block["resources"]})
    return criteria


def passes_all(world, criteria, resource, resource_type, actor=None):
    return all(passes(world, criterion, resource, resource_type, actor) for criterion in criteria)


def passes(world, criterion, resource, resource_type, actor=None):
    wanted = criterion.get("values") or []
    condition = criterion.get("condition") or "EQUALS"
    if is_property(criterion["field"]):
        wanted = with_what_is_referred_to(world, criterion, actor)
        found = property_of(world, criterion["field"], resource, actor)
        if wanted is None or (len(found) == 0 and not criterion["field"].startswith("PROPERTY.")):
            return False
    else:
        found = values_of(world, criterion["field"].upper(), resource, resource_type)
    if found is None:
        return False
    if condition == "EQUALS":
        return any(value in wanted for value in found)
    if condition == "STARTS_WITH":
        return any(value.startswith(prefix) for value in found for prefix in wanted)
    if condition == "NOT_EQUALS":
        return not any(value in wanted for value in found)
    return False


def is_property(field):
    """PROPERTY.x is the resource's, ACTOR.PROPERTY.x the actor's, ACTION.PROPERTY.x that of what is done (ADR 18)."""
    return field.startswith(("PROPERTY.", "ACTOR.PROPERTY.", "ACTION.PROPERTY."))


def property_of(world, field, resource, actor):
    name = field[field.index("PROPERTY.") + len("PROPERTY.") :]
    if field.startswith("ACTOR."):
        return world.get("known", {}).get(actor, {}).get(name, [])
    if field.startswith("ACTION."):
        return world.get("action", {}).get(name, [])
    return entity(world, resource).get("properties", {}).get(name, [])


def with_what_is_referred_to(world, criterion, actor):
    """The wanted values, ${...} replaced by what it stands for; None when that makes the criterion false.

    A reference names a property of the actor or the action, and of another party than the field. What it stands for
    may be unknown: then it adds no value, and NOT_EQUALS is false.
    """
    party = criterion["field"].partition("PROPERTY.")[0]
    wanted = []
    for value in criterion.get("values") or []:
        if not value.startswith("${"):
            wanted.append(value)
            continue
        referred = value[2:-1]
        other = referred.partition("PROPERTY.")[0]
        if not value.endswith("}") or not is_property(referred) or other == "" or other == party:
            return None
        found = property_of(world, referred, None, actor)
        if len(found) == 0 and criterion.get("condition") == "NOT_EQUALS":
            return None
        wanted.extend(found)
    return wanted


def hangs_on_actor(document):
    """Whether one of the criteria looks at the actor or the action, so that the policy names nobody outright."""
    block = document.get("resources") or {}
    if document.get("type") == "PLATFORM":
        return False
    for criterion in criteria_of(block):
        if criterion["field"].startswith(("ACTOR.PROPERTY.", "ACTION.PROPERTY.")):
            return True
        is_compared = any(value.startswith("${") for value in criterion.get("values") or [])
        if is_property(criterion["field"]) and is_compared:
            return True
    return False


def values_of(world, field, resource, resource_type):
    """The values of one field, or None for a field that does not exist. A type alone has no other values."""
    if field in ("TYPE", "RESOURCE_TYPE"):
        return [resource_type or type_of(world, resource)]
    known = entity(world, resource)
    kind = known.get("type") or type_of(world, resource) if resource else None
    if field in ("URN", "RESOURCE_URN"):
        return [resource] if resource else []
    if field == "OWNER":
        return [owner for owner, _ in known.get("owners", [])]
    if field == "TAG":
        return known.get("tags", [])
    if field == "GROUP_MEMBERSHIP":
        return groups_of(world, resource) if kind == "corpuser" else []
    if field == "DATA_PLATFORM_INSTANCE":
        return [resource] if kind == "dataPlatformInstance" else known.get("instances", [])
    if field == "DOMAIN":
        return with_ancestors(world, [resource] if kind == "domain" else known.get("domains", []))
    if field == "CONTAINER":
        return with_ancestors(world, [resource] if kind == "container" else known.get("containers", []))
    if field == "GLOSSARY":
        is_node = kind in ("glossaryTerm", "glossaryNode")
        return with_ancestors(world, [resource] if is_node else known.get("terms", []))
    return None


def with_ancestors(world, nodes):
    """Walk up from each node, the node included; a cycle ends the walk."""
    reached = []
    for node in nodes:
        while node is not None and node not in reached:
            reached.append(node)
            node = world.get("parents", {}).get(node)
    return reached


def entity(world, urn):
    """A resource that is not stored is judged by its URN and type alone."""
    return world["entities"].get(urn, {}) if urn else {}


def type_of(world, urn):
    return entity(world, urn).get("type") or urn.split(":")[2]


# ---- Sub-resources (a.5) ----


def sub_resources_pass(world, document, sub_resources):
    """One policy must accept every sub-resource; without constraints, or without sub-resources, it does."""
    block = document.get("resources") or {}
    constraints = block.get("privilegeConstraints")
    if constraints is None:
        constraints = block.get("policyConstraints")
    if constraints is None:
        return True
    for sub_resource in sub_resources:
        if sub_resource == "urn:li:allEntities:all":
            continue
        criteria = constraints.get("criteria") or []
        if any(is_property(criterion["field"]) for criterion in criteria):
            return False
        if not passes_all(world, criteria, sub_resource, None):
            return False
    return True


# ---- Derived operations (guide, "Derived authorization rules"; section c) ----


def operation(world, policies, actor, name, resource=None, related=None):
    """May the actor do a named operation? `related` names further entities, as lists of URNs.

    The rules do not bind the system (guide: "unless the change uses a system ingestion source").
    """
    if actor == SYSTEM_ACTOR:
        return True
    related = related or {}

    def may(urn, *privileges):
        return any(authorize(world, policies, actor, privilege, urn)[0] for privilege in privileges)

    def manages_a_domain_of(product):
        return any(may(domain, "MANAGE_DATA_PRODUCTS") for domain in entity(world, product).get("domains", []))

    def edits(side):
        return may(side, "EDIT_ENTITY") or (is_field(side) and may(dataset_of(side), "EDIT_ENTITY"))

    if name == "data_product.create":
        domains = related.get("domains", [])
        return len(domains) > 0 and all(may(domain, "MANAGE_DATA_PRODUCTS") for domain in domains)
    if name in ("data_product.update", "data_product.delete", "data_product.set_assets"):
        return manages_a_domain_of(resource)
    if name == "data_product.rename":
        return manages_a_domain_of(resource) or may(resource, "EDIT_ENTITY")
    if name == "data_product.ingest_assets":
        assets = related.get("assets", [])
        edits_all = len(assets) > 0 and all(may(asset, "EDIT_ENTITY_DATA_PRODUCTS", "EDIT_ENTITY") for asset in assets)
        return manages_a_domain_of(resource) or edits_all
    if name == "data_product.change_from_asset":
        return may(resource, "EDIT_ENTITY_DATA_PRODUCTS", "EDIT_ENTITY")
    if name in ("query.create", "query.update", "query.delete", "query.read"):
        subjects = related.get("subjects")
        if subjects is None:
            subjects = entity(world, resource).get("subjects", [])
        subjects = [dataset_of(subject) if is_field(subject) else subject for subject in subjects]
        enough = ["EDIT_ENTITY_QUERIES", "EDIT_ENTITY"]
        if name == "query.read":
            enough.append("VIEW_ENTITY_PAGE")
        return len(subjects) > 0 and all(may(subject, *enough) for subject in subjects)
    if name == "logical_parent.set":
        return edits(resource) and all(edits(parent) for parent in related["parent"])
    if name == "logical_parent.clear":
        return edits(resource)
    raise ValueError(f"The oracle knows no operation {name!r}.")


def is_field(urn):
    return urn.startswith("urn:li:schemaField:(")


def dataset_of(field):
    """The dataset in urn:li:schemaField:(<dataset>,<path>); a path holds no "),"."""
    inside = field[len("urn:li:schemaField:(") : -1]
    return inside[: inside.rindex("),") + 1]
