#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every --json that the program prints is what its published schema says: schemas_test.py BUILD

docs/schema/COMMAND.schema.json is checked against real outputs. The schemas use a part of JSON
Schema (2020-12): type, enum, minimum, maximum, required, properties, additionalProperties, items.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = "orrery"
KNOWN = {"$schema", "title", "description", "type", "enum", "minimum", "maximum", "required",
         "properties", "additionalProperties", "items"}
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}

# Command lines by schema; run in an empty folder, in this order. S is the folder of scenarios.
LINES = {
    "simulate": ["simulate S/laptop-2gpu.yaml --json",
                 "simulate S/llama3-70b-h100.yaml --json",
                 "simulate S/laptop-2gpu.yaml --json --set 'faults=[{kind: slow_gpu, "
                 "at: \"gpu:1\", factor: 1.5}]'"],
    "simulate_jobs": ["simulate S/two-jobs.yaml --json"],
    "explain": ["explain S/laptop-2gpu.yaml --json --keep 2"],
    "search": ["search S/laptop-2gpu.yaml --json --set search.simulations=10 --sensitivity",
               "search S/laptop-2gpu.yaml --json --set search.tokens=1e9"],
    "search_pools": ["search S/serving/llama3-70b-search.yaml --json --set "
                     "workload.num_requests=50"],
    "search_fit": ["search S/laptop-2gpu.yaml --fit sequence --json",
                   "search S/offload-13b-a100-40g.yaml --fit tiers --json",
                   "search S/laptop-2gpu.yaml --fit recompute --json"],
    "search_place": ["search S/pipette-gpt-a100.yaml --place 2 --json "
                     "--set plan.global_batch_size=16"],
    "sweep": ["sweep study.yaml --json"],
    "campaign": ["campaign S/recovery-plans.yaml --json --set 'campaign.step_time=9 s' "
                 "--set campaign.seeds=2"],
    "campaign_serving": ["campaign S/serving/llama3-70b-campaign.yaml --json "
                         "--set workload.num_requests=500 --set campaign.seeds=2"],
    "network": ["network S/network-clos-64.yaml --size 1MiB,2MiB --json",
                "network S/network-clos-64.yaml --pattern permutation --size 1MiB --json "
                "--fidelity packet --ranks 8"],
    "serve": ["serve S/serving/llama3-70b.yaml --set workload.num_requests=100 --json",
              "serve S/serving/llama3-70b-split.yaml --set workload.num_requests=100 --json",
              "serve S/serving/llama3-70b-faults.yaml --json",
              "serve S/serving/llama3-70b-tiers.yaml --set workload.num_requests=500 --json",
              "serve S/serving/llama3-70b-autoscaled.yaml --set workload.num_requests=500 --json",
              "serve S/serving/polca-a100.yaml --set workload.num_requests=500 --json",
              "serve S/serving/splitwise-a100.yaml --set workload.num_requests=100 --json",
              "serve --real S/serve-tiny-cpu.yaml --set workload.num_requests=5 --json"],
    "validate": ["validate S/catalogue/published/training.csv --family llm.c --json",
                 "validate S/catalogue/published/collectives.csv --json",
                 "validate S/catalogue/published/training_more.csv --family torchtune-3b "
                 "--calibrate-with 1 --json"],
    "validate_serving": ["validate S/catalogue/published/serving.csv --family "
                         "trtllm-0.9-ttft-h200 --json"],
    "validate_operations": ["validate S/catalogue/published/collectives_a2a.csv --json",
                            "validate S/catalogue/published/layers_moe.csv --json"],
    "validate_memory": ["validate S/catalogue/published/training_memory.csv --json"],
    "explain_error": ["explain-error KO-175B-selsp --json"],
    "explain_layouts": ["explain S/laptop-2gpu.yaml --layouts --json"],
    "network_congestion": ["network S/network-clos-64.yaml --set network.packet.congestion=dcqcn "
                           "--size 256KiB,1MiB --export-congestion factors.yaml --json"],
    "fit": ["fit --kernels S/catalogue/measurements/layers.csv -o kernels.csv --json"],
    "tokenize": ["tokenize study.yaml -o study.tokens --json"],
    "export": ["export ck -o model.safetensors --json"],
    "generate": ["generate ck --tokens 4 --json"],
    "merge": ["merge study.sqlite -o all.sqlite --json"],
    "reproduce": ["reproduce selective-recomputation holmes --json"],
    "diagnose": ["diagnose S/drill-cpu-4.yaml --set faults=[] --json",
                 "diagnose S/drill-cpu-4.yaml --nproc 2 --json",
                 "diagnose run --json"],
    "catalogue": ["catalogue --json"],
    "keys": ["keys --json"],
    "check": ["check S/laptop-2gpu.yaml S/sweep-70b-plans.yaml S/network-clos-64.yaml --json",
              "check wrong.yaml --json"],
    "topology": ["topology S/laptop-2gpu.yaml --json",
                 "topology S/network-clos-64.yaml --to-rank 63 --json"],
    "diff": ["diff S/laptop-2gpu.yaml S/laptop-2gpu.yaml --set plan.micro_batch_size=8 --run "
             "--json"],
    "profile": ["profile --for S/train-tiny-cpu.yaml -o tiny.csv --json"],
    "compare": ["compare run --json"],
    "calibrate": ["calibrate run -o machine.csv --json"],
    "discover": ["discover --device cpu -o cluster.yaml --json"],
    "replay": ["replay traces S/laptop-2gpu.yaml --json"],
}
# What some of the lines need.
BEFORE = ["simulate S/laptop-2gpu.yaml --export-chakra traces",
          "train S/train-tiny-cpu.yaml --set job.steps=8 --record run --quiet",
          "train S/train-tiny-cpu.yaml --set job.steps=2 --set job.checkpoint_folder=$PWD/ck "
          "--quiet",
          "sweep study.yaml --quiet"]
STUDY = """scenario: S/laptop-2gpu.yaml
grid: {plan.micro_batch_size: [2, 4], plan.precision: [bf16, fp8]}
"""


def is_type(value, name):
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def mistakes(value, schema, at=""):
    """Where the value is not what the schema says."""
    for keyword in set(schema) - KNOWN:
        yield f"{at}: the schema has the keyword {keyword}"
    names = schema.get("type", [])
    names = [names] if isinstance(names, str) else names
    if names and not any(is_type(value, name) for name in names):
        yield f"{at}: {value!r:.60} is no {names}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at}: {value!r} is none of {schema['enum']}"
    if is_type(value, "number") and not (schema.get("minimum", value) <= value
                                         <= schema.get("maximum", value)):
        yield f"{at}: {value} is out of range"
    if isinstance(value, list):
        for i, item in enumerate(value):
            yield from mistakes(item, schema.get("items", {}), f"{at}/{i}")
    if isinstance(value, dict):
        for name in schema.get("required", []):
            if name not in value:
                yield f"{at}: lacks {name}"
        others = schema.get("additionalProperties", {})
        for name, item in value.items():
            inner = schema.get("properties", {}).get(name, others)
            if inner is False:
                yield f"{at}: has {name}"
            else:
                yield from mistakes(item, inner, f"{at}/{name}")


def run(words, folder):
    line = re.sub(r"\bS/", f"{ROOT}/scenarios/", words)
    return subprocess.run(f"'{PROGRAM}' {line}", shell=True, cwd=folder, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, check=False)


def prepared(folder):
    """A folder in which every line can run."""
    Path(folder, "study.yaml").write_text(STUDY.replace("S/", f"{ROOT}/scenarios/"))
    Path(folder, "wrong.yaml").write_text("cluster: {nodse: 1}\n")
    for words in BEFORE:
        ran = run(words, folder)
        assert ran.returncode == 0, ran.stderr
    return folder


class Schemas(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory(prefix="orrery-schemas-")
        cls.addClassCleanup(cls.holder.cleanup)
        cls.folder = prepared(cls.holder.name)

    def test_every_command_with_json_has_a_schema(self):
        for name in re.findall(r"^  ([\w-]+) ", run("--help", self.folder).stdout, re.M):
            if re.search(r"^  --json", run(f"{name} --help", self.folder).stdout, re.M):
                with self.subTest(command=name):
                    # What `show` prints is a scenario; `gpu-bench` needs a GPU.
                    self.assertTrue(name.replace("-", "_") in LINES
                                    or name in ("show", "gpu-bench"))

    def test_outputs_are_what_the_schemas_say(self):
        for name, lines in LINES.items():
            schema = json.loads((ROOT / f"docs/schema/{name}.schema.json").read_text())
            for words in lines:
                with self.subTest(line=words):
                    ran = run(words, self.folder)
                    finds = "wrong" in words or words.startswith("diagnose")
                    self.assertIn(ran.returncode, (0, 1, 2) if finds else (0,), ran.stderr)
                    self.assertEqual(list(mistakes(json.loads(ran.stdout), schema)), [])

    def test_a_schema_sees_mistakes(self):
        schema = json.loads((ROOT / "docs/schema/check.schema.json").read_text())
        good = {"right": True, "files": [], "provenance": {}}
        self.assertGreater(len(list(mistakes({**good, "extra": 1}, schema))),
                           len(list(mistakes(good, schema))))
        self.assertTrue(list(mistakes({**good, "right": "yes"}, schema)))

    def test_times_are_seconds_and_sizes_bytes(self):
        """No key of any schema names another unit."""
        def names(schema):
            for name, inner in schema.get("properties", {}).items():
                yield name
                yield from names(inner)
            for inner in (schema.get("items"), schema.get("additionalProperties")):
                if isinstance(inner, dict):
                    yield from names(inner)
        for path in sorted((ROOT / "docs/schema").glob("*.schema.json")):
            for name in names(json.loads(path.read_text())):
                with self.subTest(schema=path.name, key=name):
                    self.assertIsNone(re.search(r"_(us|ms|ns|KiB|MiB|GiB|GBps)$", name))


if __name__ == "__main__":
    PROGRAM = os.path.abspath(os.path.join(sys.argv.pop(1), "bin", "orrery"))
    unittest.main()
