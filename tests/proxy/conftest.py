"""A service with the proxy in front of a scripted model."""

from collections.abc import Iterator

import pytest
from fronted import Front
from served import service, written
from upstream import upstream


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    folder = tmp_path_factory.mktemp("proxy")
    workspace = folder / "main"
    agents = {"main": {"workspace": str(workspace)}}
    with upstream() as model:
        config = written(folder, agents=agents, port=0, proxy={"upstream": model.url})
        with service(config, workspaces={"main": workspace}) as running:
            yield Front(running, model, workspace)
            assert "Traceback" not in running.log.read_text("utf-8")


@pytest.fixture(autouse=True)
def _forgets_what_was_asked(front: Front) -> None:
    front.model.asked.clear()
    front.model.script.clear()
