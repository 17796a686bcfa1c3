"""/catalog/patterns/<urn>: granting on all entities of a kind with a common name prefix (rules/cdap.md CD-5)."""

from collections.abc import Sequence
from http import HTTPStatus

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from catalog.access.entity_context import EntityContext
from catalog.cdap import entity_tabs, grant_services
from catalog.cdap.grant_forms import PatternForm
from catalog.cdap.grant_services import GrantRequest
from catalog.entities.pages import entity, pickers, type_labels
from catalog.entities.pages.pickers import EntityPicker
from policies.engine.families import cdap, cdap_entity_ids
from policies.engine.families.cdap_entity_ids import INSTANCE_URN, CdapName, CdapPattern
from policies.errors import Forbidden, Invalid
from policies.http.guard import signed_in

CHANNEL = "pages"

_INVALID_START_MESSAGE = (
    "This cannot be the beginning of such a name: names contain no blank, bracket, comma, colon, * or further dot."
)


@require_http_methods(["GET", "POST"])
@never_cache
@signed_in
def grant_on_pattern(request: HttpRequest, urn: str) -> HttpResponse:
    """Show the form, preview a pattern's extent, and grant; needs ADMIN through a pattern at least as wide.

    Every viewer who may see the grants of the entity gets the form (CD-18); the response is 403 for a pattern that
    matches more than the viewer may grant on.
    """
    entity_context = EntityContext.load(request, urn)
    name = entity_tabs.require_cdap_name(entity_context)
    grant_services.list_grants(entity=name.urn, principal="", by=entity_context.by)
    container, kinds = _pattern_container(name), _kind_choices(name)
    picker = EntityPicker(pickers.PRINCIPALS, entity_context.by)
    if request.method != "POST":
        initial_start = "" if name.kind in cdap_entity_ids.CONTAINER_KINDS else _short_name(name)
        return _render_page(
            request, entity_context, PatternForm(kinds, initial={"kind": kinds[0][0], "start": initial_start}), picker
        )
    form = PatternForm(kinds, request.POST)
    is_preview = "preview" in request.POST
    picker.read(request.POST)
    if is_preview:
        form.fields["privileges"].required = False
    elif not picker.chosen_urns and not picker.errors:
        picker.errors.append("Choose who gets it.")
    pattern = _parse_pattern(form, container)
    if pattern is None or not form.is_valid() or (picker.errors and not is_preview):
        return _render_page(request, entity_context, form, picker, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    privileges = tuple(form.cleaned_data["privileges"])
    form.fields["privileges"].required = True
    try:
        if is_preview:
            return _render_page(
                request,
                entity_context,
                form,
                picker,
                extent=grant_services.measure_extent(pattern=pattern, by=entity_context.by),
            )
        grant_services.grant(
            requests=[GrantRequest(principal_urn, pattern.urn, privileges) for principal_urn in picker.chosen_urns],
            by=entity_context.by,
            channel=CHANNEL,
        )
    except Forbidden:
        form.add_error(None, f"You need ADMIN through a pattern at least as wide as {pattern.urn}.")
        return _render_page(request, entity_context, form, picker, status=HTTPStatus.FORBIDDEN)
    except Invalid as error:
        picker.errors += dict.fromkeys(problem.detail for problem in error.problems)
        return _render_page(request, entity_context, form, picker, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    messages.success(request, f"{', '.join(cdap.expand(privileges))} granted on all of {pattern.urn}.")
    return redirect(entity_tabs.tab_url(entity_tabs.GRANTS, entity_context))


def _render_page(
    request: HttpRequest,
    entity_context: EntityContext,
    form: PatternForm,
    picker: EntityPicker,
    *,
    extent: grant_services.PatternExtent | None = None,
    status: HTTPStatus = HTTPStatus.OK,
) -> HttpResponse:
    container = _pattern_container(entity_tabs.require_cdap_name(entity_context))
    return entity.render_page(
        request,
        entity_context,
        tab=entity_tabs.GRANTS,
        template="catalog/grants/pattern.html",
        status=status,
        form=form,
        picker=picker.build_context(),
        reach=extent,
        lead=_name_prefix(container),
        action=entity_tabs.pattern_url(entity_context),
        back=entity_tabs.tab_url(entity_tabs.GRANTS, entity_context),
    )


def _parse_pattern(form: PatternForm, container: CdapName) -> CdapPattern | None:
    """Return the requested pattern, None with a form error when it is invalid."""
    form.is_valid()
    if "kind" not in form.cleaned_data or "start" not in form.cleaned_data:
        return None
    pattern = cdap_entity_ids.parse_pattern(
        f"{form.cleaned_data['kind']}:{_name_prefix(container)}{form.cleaned_data['start']}*"
    )
    if pattern is None:
        form.add_error("start", _INVALID_START_MESSAGE)
    return pattern


def _pattern_container(name: CdapName) -> CdapName:
    """Return the container whose content the pattern matches: the entity itself, or its parent."""
    if name.kind in cdap_entity_ids.CONTAINER_KINDS:
        return name
    return cdap_entity_ids.parse(name.ancestors[0]) or name


def _name_prefix(container: CdapName) -> str:
    """Return the common name prefix of everything in a container; empty for the instance."""
    return "" if container.urn == INSTANCE_URN else f"{container.urn.split(':', 3)[3]}."


def _short_name(name: CdapName) -> str:
    return name.urn.split(":", 3)[3].removeprefix("(urn:li:dataPlatform:cdap,").split(",")[0].rpartition(".")[2]


def _kind_choices(name: CdapName) -> Sequence[tuple[str, str]]:
    """Return the (kind, label) pairs a pattern may have: the entity's own kind, or every listed kind inside it."""
    if name.kind == cdap_entity_ids.APPLICATION:
        kinds: Sequence[str] = (cdap_entity_ids.PROGRAM,)
    elif name.kind == cdap_entity_ids.INSTANCE:
        kinds = cdap.list_kinds()
    elif name.kind == cdap_entity_ids.NAMESPACE:
        kinds = [kind for kind in cdap.list_kinds() if kind != cdap_entity_ids.NAMESPACE]
    else:
        kinds = (name.kind,)
    return [(kind, type_labels.plural_label(kind)) for kind in kinds]
