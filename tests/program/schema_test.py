#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every YAML file of scenarios/ is valid by the schema of its kind (`orrery keys --schema KIND`).
With a drawn mistake it is not. Called with the folder of the build. Exits with 77, which skips the
test, where Python has no jsonschema."""

import copy
import json
import pathlib
import random
import re
import subprocess
import sys

try:
    import jsonschema
    import yaml
except ImportError:
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECTIONS = {"stacks": "stack", "engines": "engine", "devices": "device", "nodes": "node",
            "fabrics": "fabric", "models": "model",
            "faults": "faults", "congestion_controls": "congestion_control"}
MISTAKES_OF_A_FILE = 40


class Loader(yaml.SafeLoader):
    """YAML 1.2's plain scalars: `off` is a word, `300e9` a number."""


Loader.yaml_implicit_resolvers = {}
for tag, pattern, first in [
        ("bool", r"true|false", "tf"),
        ("null", r"null|~|", "n~"),
        ("int", r"[-+]?[0-9]+", "-+0123456789"),
        ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789")]:
    Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{tag}", re.compile(f"^(?:{pattern})$"), list(first))
Loader.add_constructor("tag:yaml.org,2002:float",
                       lambda loader, node: float(loader.construct_scalar(node)))


def schema_of(program, kind):
    text = subprocess.run([program, "keys", "--schema", kind], check=True, capture_output=True,
                          text=True, cwd=ROOT).stdout
    schema = json.loads(text)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def maps_in(node):
    """Maps whose keys the schema knows; those of `set`, `grid` and `search.cluster` may be any."""
    found = []
    if isinstance(node, dict):
        found.append(node)
        for key, value in node.items():
            if key not in ("set", "grid", "points", "price_per_gpu_hour", "busy_watts",
                           "idle_watts"):
                inner = maps_in(value)
                found += inner[1:] if key == "cluster" and "objective" in node else inner
    elif isinstance(node, list):
        for item in node:
            found += maps_in(item)
    return found


def make_mistake(document, draw):
    """Makes one mistake and says which."""
    chosen = draw.choice(maps_in(document))
    key = draw.choice(list(chosen))
    value = chosen[key]
    if draw.random() < 0.5:
        chosen[key + "_x"] = chosen.pop(key)
        return f"{key} misspelt"
    if isinstance(value, bool):
        chosen[key] = "perhaps"
    elif isinstance(value, (int, float)):
        chosen[key] = draw.choice([-1e30, 1e30, [value], {"x": 1}])
        if key in ("name", "on_nodes"):
            chosen[key] = {"x": 1}
    elif isinstance(value, str):
        chosen[key] = draw.choice([{"x": 1}, None])
    elif isinstance(value, list) and all(isinstance(one, str) for one in value):
        chosen[key] = draw.choice([{"x": 1}, None])  # a word may look like a number
    else:
        chosen[key] = draw.choice([None, 7.5])
    return f"{key} is {chosen[key]}"


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve() / "bin" / "orrery")
    files = [(file, None) for file in sorted((ROOT / "scenarios").glob("*.yaml"))]
    files += [(file, None) for file in sorted((ROOT / "scenarios/serving").glob("*.yaml"))]
    for section, kind in SECTIONS.items():
        folder = ROOT / "scenarios/catalogue" / section
        files += [(file, kind) for file in sorted(folder.glob("*.yaml"))]
    schemas = {}
    wrong = []
    mistakes = 0
    draw = random.Random(7)
    for file, kind in files:
        document = yaml.load(file.read_text(), Loader)
        if kind != "fabric":
            if kind not in (None, document.get("kind")):
                wrong.append(f"{file}: its kind is {document.get('kind')}, not {kind}")
            kind = document.get("kind")
        if kind is None:
            wrong.append(f"{file}: no kind")
            continue
        if kind not in schemas:
            schemas[kind] = schema_of(program, kind)
        for error in schemas[kind].iter_errors(document):
            wrong.append(f"{file}: {error.json_path}: {error.message[:200]}")
        for _ in range(MISTAKES_OF_A_FILE):
            changed = copy.deepcopy(document)
            mistake = make_mistake(changed, draw)
            mistakes += 1
            if schemas[kind].is_valid(changed):
                wrong.append(f"{file}: valid although {mistake}")
    for line in wrong:
        print(line)
    print(f"{len(files)} files, {len(schemas)} kinds, {mistakes} mistakes, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
