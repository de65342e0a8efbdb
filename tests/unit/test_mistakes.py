"""What is wrong in a call's arguments is said in our words, without a value and without the library's."""

from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gateway_memory.serving.arguments import mistakes_of, unknown_names


class Call(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    query: Annotated[str, Field(min_length=2, max_length=5)]
    kind: Literal["memory", "note"] = "memory"
    limit: Annotated[int, Field(ge=1, le=50)] = 5
    day: Annotated[str, Field(pattern=r"^\d{4}$")] = "2026"
    sure: bool = False
    names: list[str] = []


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "query: it is missing"),
        ({"query": 4711}, "query: expected text"),
        ({"query": "x"}, "query: expected at least 2 characters"),
        ({"query": "too long"}, "query: expected at most 5 characters"),
        ({"query": "tea", "kind": "secret"}, "kind: expected 'memory' or 'note'"),
        ({"query": "tea", "limit": "many"}, "limit: expected a whole number"),
        ({"query": "tea", "limit": 0}, "limit: expected at least 1"),
        ({"query": "tea", "limit": 51}, "limit: expected at most 50"),
        ({"query": "tea", "day": "soon"}, r"day: expected text of the form ^\d{4}$"),
        ({"query": "tea", "sure": "yes"}, "sure: expected true or false"),
        ({"query": "tea", "names": "Ana"}, "names: expected a list"),
        ({"query": "tea", "names": [1]}, "names.0: expected text"),
        ({"query": "tea", "limt": 3}, 'unknown: limt; did you mean "limit"?'),
        ({"query": "tea", "user": "zoe"}, "unknown: user; known: query, kind, limit, day, sure, names"),
    ],
)
def test_a_mistake_says_where_and_what_is_expected(given: dict[str, object], told: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Call.model_validate(given)
    assert mistakes_of(caught.value, list(Call.model_fields))[0] == told
    assert "4711" not in told


def test_of_many_mistakes_some_are_told() -> None:
    with pytest.raises(ValidationError) as caught:
        Call.model_validate({"query": "tea", "names": list(range(9))})
    told, where = mistakes_of(caught.value)
    assert told.endswith("; and 4 more")
    assert where == "names.0"


def test_unknown_names_are_told_with_those_that_there_are() -> None:
    assert unknown_names(["user"], ["query"]) == "unknown: user; known: query"
    assert unknown_names(["x"], []) == "unknown: x; known: none"
