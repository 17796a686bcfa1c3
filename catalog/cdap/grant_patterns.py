"""/catalog/patterns/<urn>: giving privileges on all entities of a kind whose names begin alike (rules/cdap.md CD-5)."""

from collections.abc import Sequence
from http import HTTPStatus

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from catalog.access.entity_context import Subject
from catalog.cdap import entity_tabs, grant_services
from catalog.cdap.grant_forms import PatternForm
from catalog.cdap.grant_services import Sent
from catalog.entities.pages import entity, pickers, type_labels
from catalog.entities.pages.pickers import Picker
from policies.engine.families import cdap, cdap_entity_ids
from policies.engine.families.cdap_entity_ids import INSTANCE_URN, CdapName, Pattern
from policies.errors import Forbidden, Invalid
from policies.http.guard import signed_in

DOOR = "pages"

_NO_START = (
    "This cannot be the beginning of such a name: names contain no blank, bracket, comma, colon, * or further dot."
)


@require_http_methods(["GET", "POST"])
@never_cache
@signed_in
def give(request: HttpRequest, urn: str) -> HttpResponse:
    """The form, what a pattern stands for now, and the giving; needs ADMIN through a pattern at least as wide.

    Whoever may see the grants of the entity gets the form (CD-18); its answer is 403 for a pattern that reaches further
    than they may grant.
    """
    subject = Subject.of(request, urn)
    name = entity_tabs.name_of(subject)
    grant_services.listed(entity=name.urn, principal="", by=subject.by)
    place, kinds = _place(name), _kinds(name)
    picker = Picker(pickers.PRINCIPALS, subject.by)
    if request.method != "POST":
        started = "" if name.kind in cdap_entity_ids.PLACES else _own_name(name)
        return _page(request, subject, PatternForm(kinds, initial={"kind": kinds[0][0], "start": started}), picker)
    form = PatternForm(kinds, request.POST)
    is_preview = "preview" in request.POST
    picker.read(request.POST)
    if is_preview:
        form.fields["privileges"].required = False
    elif not picker.chosen and not picker.errors:
        picker.errors.append("Choose who gets it.")
    pattern = _pattern(form, place)
    if pattern is None or not form.is_valid() or (picker.errors and not is_preview):
        return _page(request, subject, form, picker, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    privileges = tuple(form.cleaned_data["privileges"])
    form.fields["privileges"].required = True
    try:
        if is_preview:
            return _page(request, subject, form, picker, reach=grant_services.reach(pattern=pattern, by=subject.by))
        grant_services.give(
            sent=[Sent(one, pattern.urn, privileges) for one in picker.chosen], by=subject.by, door=DOOR
        )
    except Forbidden:
        form.add_error(None, f"You need ADMIN through a pattern at least as wide as {pattern.urn}.")
        return _page(request, subject, form, picker, status=HTTPStatus.FORBIDDEN)
    except Invalid as error:
        picker.errors += dict.fromkeys(problem.detail for problem in error.problems)
        return _page(request, subject, form, picker, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    messages.success(request, f"{', '.join(cdap.expand(privileges))} granted on all of {pattern.urn}.")
    return redirect(entity_tabs.address(entity_tabs.GRANTS, subject))


def _page(
    request: HttpRequest,
    subject: Subject,
    form: PatternForm,
    picker: Picker,
    *,
    reach: grant_services.Reach | None = None,
    status: HTTPStatus = HTTPStatus.OK,
) -> HttpResponse:
    place = _place(entity_tabs.name_of(subject))
    return entity.draw(
        request,
        subject,
        tab=entity_tabs.GRANTS,
        template="catalog/grants/pattern.html",
        status=status,
        form=form,
        picker=picker.context(),
        reach=reach,
        lead=_lead(place),
        action=entity_tabs.pattern_address(subject),
        back=entity_tabs.address(entity_tabs.GRANTS, subject),
    )


def _pattern(form: PatternForm, place: CdapName) -> Pattern | None:
    """Return the pattern that was asked for, with an error beside the field when there is none."""
    form.is_valid()
    if "kind" not in form.cleaned_data or "start" not in form.cleaned_data:
        return None
    found = cdap_entity_ids.pattern(f"{form.cleaned_data['kind']}:{_lead(place)}{form.cleaned_data['start']}*")
    if found is None:
        form.add_error("start", _NO_START)
    return found


def _place(name: CdapName) -> CdapName:
    """Return what the pattern is about the content of: the entity itself, or what it lies in."""
    if name.kind in cdap_entity_ids.PLACES:
        return name
    return cdap_entity_ids.read(name.above[0]) or name


def _lead(place: CdapName) -> str:
    """Return how the names of all that lies in a place begin; of all namespaces' content nothing is alike."""
    return "" if place.urn == INSTANCE_URN else f"{place.urn.split(':', 3)[3]}."


def _own_name(name: CdapName) -> str:
    return name.urn.split(":", 3)[3].removeprefix("(urn:li:dataPlatform:cdap,").split(",")[0].rpartition(".")[2]


def _kinds(name: CdapName) -> Sequence[tuple[str, str]]:
    """Return the kinds a pattern may be of: the entity's own, or every listed kind that lies in it."""
    if name.kind == cdap_entity_ids.APPLICATION:
        found: Sequence[str] = (cdap_entity_ids.PROGRAM,)
    elif name.kind == cdap_entity_ids.INSTANCE:
        found = cdap.listed_kinds()
    elif name.kind == cdap_entity_ids.NAMESPACE:
        found = [kind for kind in cdap.listed_kinds() if kind != cdap_entity_ids.NAMESPACE]
    else:
        found = (name.kind,)
    return [(kind, type_labels.many(kind)) for kind in found]
