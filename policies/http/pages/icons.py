"""The template tag that inserts an SVG drawing into components/icon.html."""

from functools import cache

from django import template
from django.template.loader import get_template
from django.utils.safestring import SafeString, mark_safe

register = template.Library()


@register.simple_tag(name="drawing")
@cache
def render_icon(name: str) -> SafeString:
    """Return the SVG of a file in components/icons/, cached: a list shows the same few icons on every row.

    Raises TemplateDoesNotExist for an unknown name.
    """
    return mark_safe(get_template(f"components/icons/{name}.svg").render())  # noqa: S308 - a file of ours
