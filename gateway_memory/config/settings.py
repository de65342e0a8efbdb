"""All settings: those of the leaf packages, and those of the parts that compose them.

Each field is one key of config.json5 in snake case; nothing else declares a key. The metadata `expected` describes a
valid value in messages, if the annotation is not enough.
"""

import ipaddress
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from pathlib import Path
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from annotated_types import Ge, Gt, Le, MinLen, Predicate

from extractor import ExtractorSettings, ReviewMode, check_model
from gateway_memory.errors import ConfigError
from gateway_memory.scope import is_name
from notifier import NotifierSettings
from recall import RecallSettings

# The settings of `memorySync.identity`, which say who a message's sender is, and the checks across them.

CHOSEN_IDS: Final = frozenset(
    "api api_server cli console http rest socket terminal web webchat webhook websocket webui ws".split()
)
"""Channels on which a client chooses the id of its sender, so that the id proves nothing."""
_LIST: Final = 'a list of "channel:sender", "channel/account:sender" or a name that the host verifies'


class MistakeAt(ValueError):  # noqa: N818 - a mistake in the settings, which the check of a file gives its place
    """A mistake in a section of the settings. at: the keys and positions that lead to it from that section."""

    def __init__(self, at: tuple[str | int, ...], message: str) -> None:
        super().__init__(message)
        self.at = at


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Whom an entry of the settings means: a sender, or a person whom the host verifies (channel and sender are "").

    account: None for every account of the channel.
    """

    channel: str = ""
    account: str | None = None
    sender: str = ""
    person: str = ""

    def meets(self, other: "Address") -> bool:
        """Return whether somebody can be meant by both."""
        same = (self.channel, self.sender, self.person) == (other.channel, other.sender, other.person)
        return same and (self.account == other.account or None in (self.account, other.account))


def normalized(text: str) -> str:
    """Return an id or a name in the form in which ids are compared."""
    return unicodedata.normalize("NFC", text)


def channel_name(text: str) -> str:
    """Return the name of a channel in the form in which names of channels are compared, without regard to case."""
    return normalized(normalized(text).casefold())


def address_of(entry: str) -> Address | None:
    """Return whom an entry of the settings means, or None if it has none of the forms."""
    if entry != entry.strip() or not is_name(entry):
        return None
    where, colon, sender = entry.partition(":")
    if not colon:
        return Address(person=normalized(entry))
    channel, slash, account = where.partition("/")
    if not (is_name(channel) and is_name(sender) and (is_name(account) or not slash)):
        return None
    return Address(
        channel=channel_name(channel), account=normalized(account) if slash else None, sender=normalized(sender)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentitySettings:
    """Who is the owner, and who of the people. Nobody is the owner by default."""

    owner: tuple[str, ...] = field(default=(), metadata={"expected": _LIST})
    people: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict, metadata={"expected": 'an object of lists, such as {zoe: ["telegram:1", "discord:2"]}'}
    )
    channels: Mapping[str, Literal["owner", "verified"]] = field(
        default_factory=dict, metadata={"expected": 'an object, each channel with "owner" or "verified"'}
    )
    trust_owner_flag: bool = False

    def __post_init__(self) -> None:
        declared: dict[str, str] = {}
        for name, what in self.channels.items():
            if not is_name(name) or channel_name(name) in declared:
                raise MistakeAt(("channels", name), "expected each channel once, by its name")
            declared[channel_name(name)] = what
        taken: list[tuple[Address, str | None]] = []
        for at, address, whose in self._addresses():
            if mistake := self._mistake(address, whose, declared, taken):
                raise MistakeAt(at, mistake)
            taken.append((address, whose))

    def _addresses(self) -> Iterator[tuple[tuple[str | int, ...], Address, str | None]]:
        """Yield each entry with its place and the person that it means, None for the owner."""
        for name in self.people:  # a host may verify a person under the name that the settings have
            if not is_name(name):
                raise MistakeAt(("people", name), "expected a name")
            yield ("people", name), Address(person=normalized(name)), normalized(name)
        lists = [(("people", name), entries, normalized(name)) for name, entries in self.people.items()]
        for path, entries, whose in [*lists, (("owner",), self.owner, None)]:
            for number, entry in enumerate(entries):
                address = address_of(entry)
                if address is None:
                    raise MistakeAt((*path, number), f"expected {_LIST.removeprefix('a list of ')}")
                yield (*path, number), address, whose

    def _mistake(
        self,
        address: Address,
        whose: str | None,
        declared: Mapping[str, str],
        taken: list[tuple[Address, str | None]],
    ) -> str:
        channel = address.channel
        if channel in CHOSEN_IDS and channel not in declared:
            return (
                f"a client of {channel} chooses its own id; if the host verifies the ids of this channel, declare "
                f'identity.channels: {{{channel}: "verified"}}'
            )
        if whose is not None and declared.get(channel) == "owner":
            return f"contradicts identity.channels: only the owner uses {channel}"
        for other, theirs in taken:
            if theirs != whose and other.meets(address):
                one, two = (f'"{who}"' if who is not None else "the owner" for who in (theirs, whose))
                return f"the same identity is given for {one} and for {two}"
        return ""


# The settings of the service, `serve` in config.json5.


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedAgent:
    """An agent of the service: the folder of its memory."""

    workspace: Annotated[str, MinLen(1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSettings:
    """The PEM files of the certificate and its key; "" for none."""

    certificate: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitSettings:
    """What a client may ask of the service. Its own work is limited by `timeoutMs` and the like."""

    body_bytes: Annotated[int, Ge(1024), Le(1_000_000_000)] = 4_194_304
    read_seconds: Annotated[float, Gt(0), Le(3600)] = 10
    connections: Annotated[int, Gt(0), Le(100_000)] = 512
    requests: Annotated[int, Gt(0), Le(100_000)] = 256
    listeners: Annotated[int, Gt(0), Le(10_000)] = 16
    keep_alive_seconds: Annotated[int, Gt(0), Le(86_400)] = 120
    grace_seconds: Annotated[int, Ge(0), Le(3600)] = 10


def is_upstream(url: str) -> bool:
    """Return whether a URL can be the base of an upstream: "" is none."""
    try:
        parts = urlsplit(url)
        plain = not (parts.username or parts.password or parts.query or parts.fragment)
        return url == "" or (parts.scheme in ("http", "https") and bool(parts.hostname) and plain and parts.port != 0)
    except ValueError:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxySettings:
    """The proxy in front of a model. upstream: its base URL; "" for no proxy. user_field: see config.json5."""

    upstream: Annotated[str, Predicate(is_upstream)] = field(
        default="",
        metadata={"expected": 'a base URL without user, query or fragment, such as "https://api.openai.com/v1"'},
    )
    user_field: str = ""
    body_bytes: Annotated[int, Ge(1024), Le(1_000_000_000)] = 33_554_432


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeSettings:
    """Where the service listens, which agents it serves, and whom it answers.

    agents: by name. hosts: names in the Host header besides those of the address. origins: values of the Origin header
    that are accepted.
    """

    agents: Mapping[str, ServedAgent] = field(
        default_factory=dict,
        metadata={"expected": 'an object, such as {main: {workspace: "/srv/memory"}}'},
    )
    host: Annotated[str, MinLen(1)] = "127.0.0.1"
    port: Annotated[int, Ge(0), Le(65_535)] = 8765
    socket: str = ""
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    tls: TlsSettings = field(default_factory=TlsSettings)
    proxy: ProxySettings = field(default_factory=ProxySettings)
    limits: LimitSettings = field(default_factory=LimitSettings)

    def __post_init__(self) -> None:
        if bool(self.tls.certificate) != bool(self.tls.key):
            raise ValueError("tls: expected both certificate and key, or neither")
        names = [name.lower() for name in self.agents]
        if len(set(names)) < len(names):
            raise ValueError("agents: expected each agent once; names are compared without regard to case")


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
    schema: where the tables are.
    resident_rows: the maximum number of rows of the shared index that this host keeps in memory.
    large_scope_rows: from so many rows on, a scope is searched in PostgreSQL, if that has pgvector.
    """

    backend: Literal["files", "postgres"] = "files"
    dsn_env: Annotated[str, MinLen(1)] = "GATEWAY_MEMORY_DSN"
    direct_dsn_env: Annotated[str, MinLen(1)] = "GATEWAY_MEMORY_DIRECT_DSN"
    replica_dsn_env: Annotated[str, MinLen(1)] = "GATEWAY_MEMORY_REPLICA_DSN"
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


# Where the service listens: from the options of the shell and the settings.

_ANY = ("0.0.0.0", "::")  # noqa: S104 - to refuse it without names


def serve_options(
    config: Config, *, workspace: Path | None, default: Path, host: str | None, port: int | None, socket: str | None
) -> Config:
    """Return a config whose `serve` says where to serve what. The options that are given take precedence.

    Its folders are absolute, and it has `tls` only where that is used.

    workspace: the option. default: the folder if neither the option nor the config names one.

    Raises:
        ConfigError: the address needs TLS or names, or two agents have one folder.
    """
    settings = config.serve
    if workspace is not None and settings.agents:
        raise ConfigError("serve.agents names the folders of the agents: leave --workspace out, or serve.agents")
    folders = {agent: Path(each.workspace) for agent, each in settings.agents.items()} or {"main": workspace or default}
    workspaces = {agent: folder.expanduser().absolute() for agent, folder in folders.items()}
    if len({folder.resolve() for folder in workspaces.values()}) < len(workspaces):
        raise ConfigError("serve.agents: two agents have the same folder; a token would be good for both")
    # An address that is given as an option takes the place of a socket in the config, and the other way round.
    path = socket if socket is not None else "" if host is not None or port is not None else settings.socket
    address = host if host is not None else settings.host
    tls = settings.tls
    if not path and not _is_loopback(address):
        if not tls.certificate:
            raise ConfigError(
                f"{address}: others can reach this address, so the service needs serve.tls with a certificate and its "
                "key; or listen at 127.0.0.1, or at a Unix socket (--socket)"
            )
        if address in _ANY and not settings.hosts:
            raise ConfigError(f"{address}: serve.hosts must list the names by which clients reach the service")
    serve = replace(
        settings,
        agents={agent: ServedAgent(workspace=str(folder)) for agent, folder in workspaces.items()},
        host="127.0.0.1" if address.lower() == "localhost" else address,
        port=settings.port if port is None else port,
        socket=str(Path(path).expanduser().absolute()) if path else "",
        tls=TlsSettings() if path else tls,
    )
    return replace(config, serve=serve)


def _is_loopback(host: str) -> bool:
    """Return whether an address can be reached from this machine alone. Of names, only localhost is known to be."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
