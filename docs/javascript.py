"""Write integrations/javascript/schema.d.ts, the types of the calls, from the OpenAPI file of the service.

With --check, say whether it is up to date, and write nothing. Needs npm, which installs the pinned tools once.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

from gateway_memory.serving.endpoints import document

ROOT = Path(__file__).parents[1]
TOOLS = ROOT / ".gateways" / "javascript"
PINNED = ("openapi-typescript@7.13.0", "typescript@5.9.3", "@types/node@24.10.1")
SCHEMA = ROOT / "integrations" / "javascript" / "schema.d.ts"


def installed() -> Path:
    """Return the folder of the tools' programs; install them unless these versions are there."""
    marks = TOOLS / "installed"
    if not marks.exists() or marks.read_text("utf-8") != "\n".join(PINNED):
        npm = shutil.which("npm")
        if npm is None:
            sys.exit("npm is missing; on Debian and Ubuntu: apt install npm")
        shutil.rmtree(TOOLS, ignore_errors=True)
        TOOLS.mkdir(parents=True)
        (TOOLS / "package.json").write_text('{"private": true}\n', "utf-8")
        command = [npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", *PINNED]
        subprocess.run(command, cwd=TOOLS, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - pinned
        marks.write_text("\n".join(PINNED), "utf-8")
    return TOOLS / "node_modules" / ".bin"


def made() -> str:
    """Return the types of today's calls."""
    described, written = TOOLS / "openapi.json", TOOLS / "schema.d.ts"
    program = installed() / "openapi-typescript"
    described.write_text(json.dumps(document()), "utf-8")
    # A field with a default may be left out of a request.
    command = [str(program), str(described), "--default-non-nullable=false", "--output", str(written)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603 - pinned
    return written.read_text("utf-8")


def main() -> None:
    """Write the file, or compare it."""
    if "--check" not in sys.argv[1:]:
        SCHEMA.write_text(made(), "utf-8")
    elif SCHEMA.read_text("utf-8") != made():
        sys.exit(f"{SCHEMA}: out of date; `make javascript` writes it")


if __name__ == "__main__":
    main()
