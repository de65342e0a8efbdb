"""All settings: those of the leaf packages, and those of the parts that compose them.

Each field is one key of config.json5 in snake case; nothing else declares a key. The metadata `expected` describes a
valid value in messages, if the annotation is not enough.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from annotated_types import Ge, Gt, Le, MinLen, Predicate

from extractor import ExtractorSettings, ReviewMode, check_model
from gateway_memory.config.identity import IdentitySettings
from gateway_memory.config.service import ServeSettings
from notifier import NotifierSettings
from recall import RecallSettings

LOCAL = "local"
_MOST = 1_000_000_000
_A_DAY_SECONDS = 86_400
_HUNDRED_YEARS_DAYS = 36_500
_HUNDRED_YEARS_HOURS = 876_000
"""An opening looks for a file for each of these days."""


def is_time_zone(name: str) -> bool:
    """Return whether `name` is "local" or a zone that the IANA data of this machine (or the tzdata package) knows."""
    if name == LOCAL:
        return True
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # OSError: "Europe" is a folder of the zone data
        return False
    return True


def is_schema(name: str) -> bool:
    """Tell whether `name` can be the schema of our tables, without quotes and with room for what is made of it."""
    return re.fullmatch(r"[a-z][a-z0-9_]{0,47}", name) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class IncrementalSyncSettings:
    """Whether changes in the memory files are delivered to a running session."""

    enabled: bool = True
    check_on_message: bool = True
    watch: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OpeningSettings:
    """What is injected when a session starts: about the user, and where the last session ended, within a budget."""

    enabled: bool = True
    max_tokens: Annotated[int, Gt(0), Le(_MOST)] = 1000
    include_memory_md: bool = True
    profile_tokens: Annotated[int, Ge(0), Le(_MOST)] = 500
    max_found: Annotated[int, Ge(0), Le(_MOST)] = 5
    coming_days: Annotated[int, Ge(0), Le(366)] = 14
    weekly_digest: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandsSettings:
    """Whether /memory in a message is a command, and whether a shell's search may ask this process."""

    enabled: bool = True
    socket: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationSettings:
    """Whether tool calls, decisions and errors of a session are kept, and for how long."""

    enabled: bool = True
    keep_days: Annotated[int, Gt(0), Le(_HUNDRED_YEARS_DAYS)] = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeSettings:
    """Whether what was said in each turn is kept, and for how many days: 0 for ever."""

    enabled: bool = True
    keep_days: Annotated[int, Ge(0), Le(_HUNDRED_YEARS_DAYS)] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSettings:
    """What of a session is kept, who makes its summary, and when a session that nobody ended is closed.

    summary_model: "" for the model that reads batches, "rules" for none, or another one's name.
    summary_seconds, stage_seconds: how long the model's summary of a session and of a stage may take.
    """

    records: bool = True
    stage_summaries: bool = True
    followups: bool = True
    summary_model: str = ""
    summary_seconds: Annotated[float, Gt(0), Le(_A_DAY_SECONDS)] = 60
    stage_seconds: Annotated[float, Gt(0), Le(_A_DAY_SECONDS)] = 4
    idle_hours: Annotated[float, Gt(0), Le(_HUNDRED_YEARS_HOURS)] = 24
    keep: Annotated[int, Gt(0), Le(_MOST)] = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class DistillSettings:
    """Which facts of the log move up to MEMORY.md when a session ends: certain ones that were used repeatedly."""

    enabled: bool = True
    min_confidence: Annotated[float, Ge(0), Le(1)] = 0.7
    min_uses: Annotated[int, Gt(0), Le(_MOST)] = 4
    min_days: Annotated[int, Gt(0), Le(_HUNDRED_YEARS_DAYS)] = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewSettings:
    """Which memories wait for a person before they are kept, and for how many days: 0 for ever.

    min_confidence: below it, a model is not sure. owner_names: what the owner is called by others.
    """

    mode: ReviewMode = "doubtful"
    min_confidence: Annotated[float, Ge(0), Le(1)] = 0.6
    expire_days: Annotated[int, Ge(0), Le(_HUNDRED_YEARS_DAYS)] = 30
    owner_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    """Whether the command line and the hooks keep a log in the workspace, and for how many days; it holds no texts."""

    enabled: bool = True
    retain_days: Annotated[int, Gt(0), Le(_HUNDRED_YEARS_DAYS)] = 14


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSettings:
    """Where the memory is, and how large MEMORY.md may grow by automatic writes, in bytes.

    dsn_env: the environment variable that holds PostgreSQL's connection string. direct_dsn_env: the one that holds a
    connection string past a pooler, for NOTIFY. replica_dsn_env: the one of a replica, which searches read from.
    shards: those of the servers over which the index is spread by scope; (): it is beside the rest.
    schema: where the tables are.
    resident_rows: the maximum number of rows of the shared index that this host keeps in memory.
    large_scope_rows: from so many rows on, a scope is searched in PostgreSQL, if that has pgvector.
    """

    backend: Literal["files", "postgres"] = "files"
    dsn_env: Annotated[str, MinLen(1)] = "GATEWAY_MEMORY_DSN"
    direct_dsn_env: Annotated[str, MinLen(1)] = "GATEWAY_MEMORY_DIRECT_DSN"
    replica_dsn_env: Annotated[str, MinLen(1)] = "GATEWAY_MEMORY_REPLICA_DSN"
    shards: tuple[Annotated[str, MinLen(1)], ...] = ()
    schema: Annotated[str, Predicate(is_schema)] = field(
        default="gateway_memory",
        metadata={"expected": "at most 48 lower-case letters, digits and _, the first a letter"},
    )
    resident_rows: Annotated[int, Ge(1000), Le(_MOST)] = 150_000
    large_scope_rows: Annotated[int, Ge(1000), Le(_MOST)] = 100_000
    max_memory_md_bytes: Annotated[int, Gt(0), Le(_MOST)] = 32768

    @property
    def is_shared(self) -> bool:
        """Whether the memory is in PostgreSQL, where other hosts may have it open."""
        return self.backend == "postgres"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySync:
    """The `memorySync` section: all settings of one agent's memory."""

    time_zone: Annotated[str, Predicate(is_time_zone)] = field(
        default=LOCAL,
        metadata={"expected": '"local" or the IANA name of a time zone such as "Asia/Shanghai"'},
    )
    identity: IdentitySettings = field(default_factory=IdentitySettings)
    auto_extract: ExtractorSettings = field(default_factory=ExtractorSettings)
    auto_recall: RecallSettings = field(default_factory=RecallSettings)
    notify: NotifierSettings = field(default_factory=NotifierSettings)
    incremental_sync: IncrementalSyncSettings = field(default_factory=IncrementalSyncSettings)
    opening: OpeningSettings = field(default_factory=OpeningSettings)
    commands: CommandsSettings = field(default_factory=CommandsSettings)
    observations: ObservationSettings = field(default_factory=ObservationSettings)
    episodes: EpisodeSettings = field(default_factory=EpisodeSettings)
    sessions: SessionSettings = field(default_factory=SessionSettings)
    distill: DistillSettings = field(default_factory=DistillSettings)
    review: ReviewSettings = field(default_factory=ReviewSettings)
    logs: LogSettings = field(default_factory=LogSettings)
    store: StoreSettings = field(default_factory=StoreSettings)

    def __post_init__(self) -> None:
        if self.sessions.summary_model:
            try:
                check_model(self.sessions.summary_model, self.auto_extract.base_url)
            except ValueError as error:
                raise ValueError(f"sessions: summaryModel: {str(error).removeprefix('model: ')}") from None

    def zone(self) -> tzinfo | None:
        """Return the time zone as `datetime.astimezone` takes it: None is the host's own, daylight saving included.

        `datetime.fromtimestamp(at, UTC).astimezone(settings.zone())` is aware and right in both cases.
        """
        return None if self.time_zone == LOCAL else ZoneInfo(self.time_zone)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The defaults, and the agents that differ from them; `agents` is keyed by lower-case agent id.

    serve: the settings of the service. source: the file that it was read from, "" for none: an agent's own commands
    read it again.
    """

    defaults: MemorySync = field(default_factory=MemorySync)
    agents: Mapping[str, MemorySync] = field(default_factory=dict)
    serve: ServeSettings = field(default_factory=ServeSettings)
    source: str = field(default="", compare=False)

    def for_agent(self, agent_id: str) -> MemorySync:
        """Return the settings of one agent, or the defaults. Ids are compared without regard to case."""
        return self.agents.get(agent_id.lower(), self.defaults)


def tuned(config: Config, new: Config) -> Config:
    """Return a config with the least scores of recall of another one; all else stays."""

    def with_scores(agent: MemorySync, scores: MemorySync) -> MemorySync:
        recall, other = agent.auto_recall, scores.auto_recall
        episodes = replace(recall.episodes, min_score=other.episodes.min_score)
        return replace(agent, auto_recall=replace(recall, min_score=other.min_score, episodes=episodes))

    agents = {name: with_scores(settings, new.for_agent(name)) for name, settings in config.agents.items()}
    return replace(config, defaults=with_scores(config.defaults, new.defaults), agents=agents)
