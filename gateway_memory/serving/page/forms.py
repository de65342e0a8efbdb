"""The forms of the page as they come: read within the service's limits, and each field as often as it may be given."""

from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import parse_qsl

from starlette.requests import Request

from gateway_memory.config.serve import LimitSettings
from gateway_memory.serving.body import body_of
from gateway_memory.serving.errors import ServiceError

__all__ = ["Form", "form_of"]

_FORM: Final = "application/x-www-form-urlencoded"
_FIELDS: Final = 1000


class Form:
    """The fields of a form, in their order."""

    def __init__(self, fields: Mapping[str, Sequence[str]]) -> None:
        self._fields = fields

    def one(self, name: str, default: str = "") -> str:
        """Return a field that is given once, or not at all.

        Raises:
            ServiceError: bad_request, it is given more than once.
        """
        given = self._fields.get(name, (default,))
        if len(given) > 1:
            raise ServiceError("bad_request", f"{name}: given {len(given)} times; expected once", name)
        return given[0]

    def each(self, name: str) -> Sequence[str]:
        """Return a field that may be given any number of times; one that is not given is "" once."""
        return self._fields.get(name, ("",))


async def form_of(request: Request, limits: LimitSettings) -> Form:
    """Return the form that a request brings. What is no valid text in it is replaced.

    Raises:
        ServiceError: bad_request, too_large or too_slow.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        raise ServiceError("bad_request", "")
    body = await body_of(request, limits)
    fields: dict[str, list[str]] = {}
    try:
        given = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_FIELDS, errors="replace")
    except ValueError:
        raise ServiceError("bad_request", "") from None
    for name, value in given:
        fields.setdefault(name, []).append(value)
    return Form(fields)
