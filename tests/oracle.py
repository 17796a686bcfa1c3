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

Policies are a list of pairs (id, document), where a document is a published dataHubPolicyInfo, with our own fields of
api-next.md section 1 ("next 1"): `effect`, and whom `actors` excludes.
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

FEATURES = [
    "MANAGE_GLOBAL_ANNOUNCEMENTS",
    "MANAGE_BUSINESS_ATTRIBUTE",
    "MANAGE_DOCUMENTATION_FORMS",
    "MANAGE_INGESTION",
    "VIEW_ANALYTICS",
    "MANAGE_GLOBAL_VIEWS",
    "MANAGE_GLOBAL_OWNERSHIP_TYPES",
    "CREATE_BUSINESS_ATTRIBUTE",
    "MANAGE_STRUCTURED_PROPERTIES",
    "VIEW_TESTS",
    "MANAGE_TESTS",
    "VIEW_METADATA_PROPOSALS",
    "CREATE_METADATA_CONSTRAINTS",
    "MANAGE_GLOBAL_SETTINGS",
    "MANAGE_MONITORS",
    "VIEW_MANAGE_TAGS",
    "CREATE_GLOBAL_ANNOUNCEMENTS",
    "VIEW_STRUCTURED_PROPERTIES_PAGE",
    "MANAGE_HOME_PAGE_TEMPLATES",
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
    for identifier, document in list(policies) + [(SELF_POLICY, self_policy(actor))]:
        if not lists(document, privilege):
            continue
        if not applies(world, document, actor, resource, sub_resources, resource_type):
            continue
        if denies_access(document):
            denies.append(identifier)
        else:
            allows.append(identifier)
    if denies:
        return False, sorted(set(denies))
    return len(allows) > 0, sorted(set(allows))


def authorize_any_of(world, policies, actor, any_of, resource=None, sub_resources=(), resource_type=None):
    """Disjunction of conjunctions (a.7). An empty conjunction is a refusal, an empty disjunction too.

    The system actor is allowed before anything else is read (a.1). Where EDIT_ENTITY and what it stands in for are both
    named, a deny of either refuses both (next 1).
    """
    if actor == SYSTEM_ACTOR:
        return True
    named = [privilege for privileges in any_of for privilege in privileges]
    for privileges in any_of:
        answers = []
        for privilege in privileges:
            answers.append(authorize(world, policies, actor, privilege, resource, sub_resources, resource_type)[0])
            for other in named:
                if "EDIT_ENTITY" in (privilege, other) and other != privilege and is_edit(privilege) and is_edit(other):
                    answers.append(not is_denied(world, policies, actor, other, resource, sub_resources, resource_type))
        if len(answers) > 0 and all(answers):
            return True
    return False


def is_edit(privilege):
    """EDIT_ENTITY, or a narrower privilege in place of which it is taken."""
    return privilege.startswith("EDIT_")


def is_denied(world, policies, actor, privilege, resource, sub_resources, resource_type):
    denying = [(identifier, document) for identifier, document in policies if denies_access(document)]
    return authorize(world, denying, actor, privilege, resource, sub_resources, resource_type)[1] not in (
        [],
        [SELF_POLICY],
    )


def granted_privileges(world, policies, actor, resource=None, resource_type=None):
    """Everything stored policies let the actor do to the resource, sorted; without sub-resources (a.8)."""
    listed = []
    for _, document in policies:
        listed.extend(privileges_of(document))
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
    """Whom stored policies name for the privilege on the resource (a.8, next 1). Groups and roles are not expanded.

    A name is judged as an actor of whom only this name is known; a name is an exception, too, if it takes out somebody
    who has a listed name besides. "ALL" and "GROUPS" stand for all users and all groups.
    """
    allows = []
    denies = []
    for _, document in policies:
        if document.get("state") != "ACTIVE" or not lists(document, privilege):
            continue
        block = document.get("resources") or {}
        if denies_access(document):
            has_constraints = any(block.get(name) is not None for name in ("privilegeConstraints", "policyConstraints"))
            if not has_constraints and covers_somebody(world, document, resource, resource_type):
                denies.append(document)
        elif not hangs_on_actor(document) and resource_matches(world, document, resource, resource_type):
            allows.append(document)

    def allowed(name):
        speaks = [speaks_to(world, document, name, resource) for document in allows]
        refuses = [speaks_to(world, document, name, resource) for document in denies]
        return any(speaks) and not any(refuses)

    def allowed_as_both(name, other):
        """Whether an actor of whom two names are known is allowed."""

        def speaks_to_them(document):
            if name in excluded_names(world, document, resource) or other in excluded_names(world, document, resource):
                return False
            return any(speaks_to(world, document, one, resource, without_exclusions=True) for one in (name, other))

        return any(map(speaks_to_them, allows)) and not any(map(speaks_to_them, denies))

    listed = set()
    for document in allows:
        listed |= {name for name in names_in(world, document, resource) if speaks_to(world, document, name, resource)}
    shown = {name for name in listed if allowed(name)}
    for document in denies:
        for name in excluded_names(world, document, resource):
            is_implied = "ALL" in shown or ("GROUPS" in shown and name.startswith("urn:li:corpGroup:"))
            if allowed(name) and not is_implied:
                shown = shown | {name}
    touched = set()
    for document in denies:
        touched |= names_in(world, document, resource)
    for document in allows:
        touched |= excluded_names(world, document, resource)
    excepted = set()
    for name in touched - {"ALL", "GROUPS"}:
        is_reached = any(speaks_to(world, document, name, resource, without_exclusions=True) for document in allows)
        if is_reached and not allowed(name):
            excepted.add(name)
        for other in shown:
            are_two_users = name.startswith("urn:li:corpuser:") and other.startswith("urn:li:corpuser:")
            if not are_two_users and not allowed_as_both(name, other):
                excepted.add(name)
    return {
        "all_users": "ALL" in shown,
        "all_groups": "GROUPS" in shown,
        **by_kind(shown),
        "except": by_kind(excepted),
    }


def by_kind(names):
    return {
        "users": sorted(name for name in names if name.startswith("urn:li:corpuser:")),
        "groups": sorted(name for name in names if name.startswith("urn:li:corpGroup:")),
        "roles": sorted(name for name in names if name.startswith("urn:li:dataHubRole:")),
    }


def names_in(world, document, resource):
    """The names in the actor clause, owners included."""
    actors = document.get("actors") or {}
    names = set()
    for key in ("users", "groups", "roles"):
        names |= set(actors.get(key) or [])
    names |= set(owners_spoken_to(world, document, resource))
    if actors.get("allUsers"):
        names.add("ALL")
    if actors.get("allGroups"):
        names.add("GROUPS")
    return names


def excluded_names(world, document, resource):
    actors = document.get("actors") or {}
    names = set()
    for key in ("excludedUsers", "excludedGroups", "excludedRoles"):
        names |= set(actors.get(key) or [])
    for owner, owner_type in entity(world, resource).get("owners", []) if resource else []:
        if owner_type in (actors.get("excludedResourceOwnersTypes") or []):
            names.add(owner)
    return names


def speaks_to(world, document, name, resource, without_exclusions=False):
    """Whether the clause fits an actor of whom only this name is known."""
    if not without_exclusions and name in excluded_names(world, document, resource):
        return False
    names = names_in(world, document, resource)
    if name in names or "ALL" in names:
        return True
    return "GROUPS" in names and name.startswith("urn:li:corpGroup:")


def covers_somebody(world, document, resource, resource_type):
    """Whether a deny covers the resource for some actor: what its criteria say of actors may be anything."""
    if document.get("type") == "PLATFORM" or document.get("resources") is None:
        return True
    if not resource and not resource_type:
        return False
    criteria = [one for one in criteria_of(document["resources"]) if not is_about_actor(one)]
    return passes_all(world, criteria, resource, resource_type, None, is_deny=True)


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


def denies_access(document):
    return document.get("effect") == "DENY"


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
    if privilege in FEATURES:
        return "MANAGE_FEATURES" in listed
    return False


def applies(world, document, actor, resource, sub_resources, resource_type):
    """Whether everything but the privilege fits (a.1). Only the state ACTIVE grants."""
    if document.get("state") != "ACTIVE":
        return False
    if not actor_matches(world, document, actor, resource):
        return False
    if not resource_matches(world, document, resource, resource_type, actor):
        return False
    if denies_access(document):
        return deny_reaches_sub_resource(world, document, sub_resources)
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
    """Any one form is enough; empty and absent lists match nobody. Whoever is excluded is never reached (next 1)."""
    actors = document.get("actors") or {}
    if is_excluded(world, document, actor, resource):
        return False
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


def is_excluded(world, document, actor, resource):
    actors = document.get("actors") or {}
    if actor in (actors.get("excludedUsers") or []):
        return True
    for group in groups_of(world, actor):
        if group in (actors.get("excludedGroups") or []):
            return True
    for role in roles_of(world, actor):
        if role in (actors.get("excludedRoles") or []):
            return True
    types = actors.get("excludedResourceOwnersTypes") or []
    for owner, owner_type in entity(world, resource).get("owners", []) if resource else []:
        if owner_type in types and (owner == actor or owner in groups_of(world, actor)):
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
    return passes_all(world, criteria_of(block), resource, resource_type, actor, is_deny=denies_access(document))


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


def passes_all(world, criteria, resource, resource_type, actor=None, is_deny=False):
    return all(passes(world, criterion, resource, resource_type, actor, is_deny) for criterion in criteria)


def passes(world, criterion, resource, resource_type, actor=None, is_deny=False):
    """Whether a criterion holds. What is not known fails for an allow and holds for a deny (ADR 18, next 1)."""
    wanted = criterion.get("values") or []
    condition = criterion.get("condition") or "EQUALS"
    if is_deny and is_unknown(world, criterion, actor):
        return True
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


def is_unknown(world, criterion, actor):
    """Whether a criterion cannot be read, or looks at a property of actor or action that is not known."""
    if criterion.get("condition") not in (None, "", "EQUALS", "STARTS_WITH", "NOT_EQUALS"):
        return True
    field = criterion["field"]
    if not is_property(field):
        return values_of(world, field.upper(), None, "dataset") is None
    if not field.startswith("PROPERTY.") and len(property_of(world, field, None, actor)) == 0:
        return True
    if with_what_is_referred_to(world, criterion, actor) is None:
        return True
    referred = [value[2:-1] for value in criterion.get("values") or [] if value.startswith("${")]
    return any(len(property_of(world, name, None, actor)) == 0 for name in referred)


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
    return any(is_about_actor(criterion) for criterion in criteria_of(block))


def is_about_actor(criterion):
    if criterion["field"].startswith(("ACTOR.PROPERTY.", "ACTION.PROPERTY.")):
        return True
    is_compared = any(value.startswith("${") for value in criterion.get("values") or [])
    return is_property(criterion["field"]) and is_compared


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


def deny_reaches_sub_resource(world, document, sub_resources):
    """A deny with constraints needs one sub-resource that passes, so it says nothing of a question without (next 1)."""
    block = document.get("resources") or {}
    constraints = block.get("privilegeConstraints")
    if constraints is None:
        constraints = block.get("policyConstraints")
    if constraints is None:
        return True
    criteria = [one for one in constraints.get("criteria") or [] if not is_property(one["field"])]
    for sub_resource in sub_resources:
        if sub_resource == "urn:li:allEntities:all":
            return True
        if passes_all(world, criteria, sub_resource, None, is_deny=True):
            return True
    return False


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
