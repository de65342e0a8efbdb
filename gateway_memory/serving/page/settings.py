"""The settings in force, each with its meaning and its default, as config.json5 has them."""

import json
from typing import Any, Final

from gateway_memory.config.keys import known_keys, known_paths
from gateway_memory.config.load import chinese_meanings, reference_text, render_config
from gateway_memory.config.scan import KeyPath, dotted, scan
from gateway_memory.config.settings import Config
from gateway_memory.edge.phrases import Language

__all__ = ["rows_of"]

_SECTION: Final[KeyPath] = ("agents", "defaults", "memorySync")
_SERVICE: Final[KeyPath] = ("serve",)


def rows_of(config: Config, agent: str, language: Language) -> list[dict[str, str]]:
    """Return a row for each key: its name, value, default and meaning; `differs` is "yes" or ""."""
    chinese = chinese_meanings() if language == "zh" else {}
    in_force = json.loads(render_config(Config(defaults=config.for_agent(agent), serve=config.serve)))
    defaults = json.loads(render_config(Config()))
    comments = scan(reference_text()).comments
    rows = []
    for section in (_SECTION, _SERVICE):
        for path in known_paths(section):
            if not known_keys(path):
                value, default = (_shown(document, path) for document in (in_force, defaults))
                name = dotted(path[len(_SECTION) :] if section == _SECTION else path)
                meaning = chinese.get(name) or " ".join(comments.get(path, "").split())
                differs = "yes" if value != default else ""
                rows.append({"name": name, "value": value, "default": default, "meaning": meaning, "differs": differs})
    return rows


def _shown(document: Any, path: KeyPath) -> str:
    for step in path:
        document = document[step]
    return json.dumps(document, ensure_ascii=False)
