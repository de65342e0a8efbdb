"""An edit of a file can be taken back as it was made, and nothing else can."""

import json
from dataclasses import asdict

from hypothesis import given
from hypothesis import strategies as st

from gateway_memory.ground.texts import decoded
from gateway_memory.store.patches import Patch, patch_of, taken_back

texts = st.lists(st.sampled_from(["", "- one", "- two", "# T", "prose\r", "- three <!-- gm:abcdefgh -->"])).map(
    "\n".join
)


@given(texts, texts)
def test_a_patch_takes_its_edit_back_also_from_the_journal(before: str, after: str) -> None:
    patch = patch_of("MEMORY.md", before, after, made=False)
    kept = decoded(Patch, json.loads(json.dumps(asdict(patch))))
    assert kept == patch
    if before != after:
        assert taken_back(after, kept) == before


@given(texts, texts, texts)
def test_what_somebody_edited_since_is_not_touched(before: str, after: str, since: str) -> None:
    patch = patch_of("MEMORY.md", before, after, made=False)
    if since != after or before == after:
        assert taken_back(since, patch) is None
