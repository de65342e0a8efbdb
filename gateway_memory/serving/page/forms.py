"""The forms of the page as they come: read within the service's limits."""

from collections.abc import Sequence
from typing import Final
from urllib.parse import parse_qsl

from starlette.datastructures import ImmutableMultiDict
from starlette.requests import Request

from gateway_memory.config.service import LimitSettings
from gateway_memory.serving.errors import ServiceError
from gateway_memory.serving.request import read_body

_FORM: Final = "application/x-www-form-urlencoded"
_FIELDS: Final = 1000


class Form(ImmutableMultiDict[str, str]):
    """The fields of a form, in their order."""

    def one(self, name: str, default: str = "") -> str:
        """Return a field that is given once, or not at all.

        Raises:
            ServiceError: bad_request, it is given more than once.
        """
        given = self.getlist(name)
        if len(given) > 1:
            raise ServiceError("bad_request", f"{name}: given {len(given)} times; expected once", name)
        return given[0] if given else default

    def each(self, name: str) -> Sequence[str]:
        """Return a field that may be given any number of times; one that is not given is "" once."""
        return self.getlist(name) or ("",)


async def read_form(request: Request, limits: LimitSettings) -> Form:
    """Return the form of a request. Characters that are not valid are replaced.

    Raises:
        ServiceError: bad_request, too_large or too_slow.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        raise ServiceError("bad_request", "")
    body = await read_body(request, limits)
    try:
        return Form(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_FIELDS, errors="replace"))
    except ValueError:
        raise ServiceError("bad_request", "") from None
