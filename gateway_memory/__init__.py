"""Long-term memory for chat gateways, shared by all sessions."""

from gateway_memory.edge.shadowed import check_packages
from gateway_memory.ground import lazy

__version__ = "0.2.0"

check_packages()

# A hook runs in its own process and needs almost none of the names.
__all__, __getattr__ = lazy(
    __name__,
    {
        "extractor": ("Candidate", "Turn"),
        ".calls.placing": ("Placement",),
        ".config.load": ("load_config",),
        ".config.settings": ("Config",),
        ".context.builder": ("Context",),
        ".errors": (
            "ClosedError",
            "ConfigError",
            "GatewayMemoryError",
            "JournalDamagedError",
            "RefusedError",
            "SchemaFromFutureError",
            "ShadowedPackageError",
            "StoreError",
            "UsageError",
            "WorkspaceError",
        ),
        ".identity": ("Facts", "Refused", "Speaker"),
        ".memory": ("GatewayMemory",),
        ".observability.logs": ("DayLog",),
        ".parts": ("Extract",),
        ".scope": ("OWNER",),
        ".sessions.session": ("Session",),
        ".store.journal.turns": ("UNNUMBERED",),
    },
)
__all__ += ["__version__"]
