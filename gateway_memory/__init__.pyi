# The public names by the module that has them. A test compares them with those of `__init__.py`.

from extractor import Candidate as Candidate
from extractor import Turn as Turn

from .calls.placing import Placement as Placement
from .config.load import load_config as load_config
from .config.settings import Config as Config
from .context.builder import Context as Context
from .errors import ClosedError as ClosedError
from .errors import ConfigError as ConfigError
from .errors import GatewayMemoryError as GatewayMemoryError
from .errors import JournalDamagedError as JournalDamagedError
from .errors import RefusedError as RefusedError
from .errors import SchemaFromFutureError as SchemaFromFutureError
from .errors import ShadowedPackageError as ShadowedPackageError
from .errors import StoreError as StoreError
from .errors import UsageError as UsageError
from .errors import WorkspaceError as WorkspaceError
from .identity import Facts as Facts
from .identity import Refused as Refused
from .identity import Speaker as Speaker
from .memory import GatewayMemory as GatewayMemory
from .observability.logs import DayLog as DayLog
from .parts import Extract as Extract
from .scope import OWNER as OWNER
from .sessions.session import Session as Session
from .store.journal.turns import UNNUMBERED as UNNUMBERED

__version__: str
