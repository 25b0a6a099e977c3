#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs a build into an empty folder and as Debian packages, and runs it from there:
install_test.py BUILD

The installed folder is moved, and its catalogue changed: the program must follow it and must not
look into the source tree, whose path is compiled in. A program of its own is built with the
installed library of studies.
"""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CMAKE = os.environ.get("ORRERY_CMAKE", "cmake")
BUILD = "build"
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "step_times"


def run(*line, cwd, status=0):
    """Standard output, or standard error where an error is expected."""
    environment = {key: value for key, value in os.environ.items() if key != "ORRERY_CATALOGUE"}
    ran = subprocess.run([str(word) for word in line], cwd=cwd, env=environment, text=True,
                         capture_output=True, check=False)
    if ran.returncode != status:
        raise AssertionError(f"{line} ended with {ran.returncode}:\n{ran.stdout}{ran.stderr}")
    return ran.stderr if status else ran.stdout


class Installed(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="orrery-install-")
        self.addCleanup(self.folder.cleanup)
        self.path = Path(self.folder.name)

    def check(self, prefix):
        """The program below `prefix` runs with the catalogue and the scenarios there, only."""
        program, share = prefix / "bin" / "orrery", prefix / "share" / "orrery"
        catalogue = share / "scenarios" / "catalogue"
        answer = json.loads(run(program, "simulate", share / "scenarios" / "laptop-2gpu.yaml",
                                "--json", cwd=self.path))
        self.assertGreater(answer["iteration_s"], 0)
        self.assertTrue((share / "schema" / "simulate.schema.json").is_file())
        self.assertTrue((prefix / "share" / "doc" / "orrery" / "copyright").is_file())
        pages = prefix / "share" / "man" / "man1"
        self.assertIn("orrery\\-simulate", (pages / "orrery.1").read_text())
        self.assertIn(".SH OPTIONS", (pages / "orrery-simulate.1").read_text())
        for file in ("bash-completion/completions/orrery", "zsh/site-functions/_orrery",
                     "fish/vendor_completions.d/orrery.fish"):
            self.assertIn("simulate", (prefix / "share" / file).read_text())

        devices = catalogue / "devices"
        (devices / "rtx-4090.yaml").rename(devices / "moved-gpu.yaml")
        listed = run(program, "catalogue", "devices", cwd=self.path)
        self.assertIn("moved-gpu", listed)
        self.assertNotIn("rtx-4090", listed)
        self.assertIn("rtx-4090", run(program, "simulate",
                                      share / "scenarios" / "laptop-2gpu.yaml", cwd=self.path,
                                      status=2))

    def install(self, *components):
        prefix = self.path / "first"
        for component in components:
            run(CMAKE, "--install", BUILD, "--prefix", prefix, "--component", component,
                cwd=self.path)
        return prefix

    def test_runs_where_it_was_moved_to(self):
        self.install("orrery").rename(self.path / "second")
        self.check(self.path / "second")

    def test_finds_its_modules(self):
        prefix = self.install("orrery")
        scenarios = prefix / "share/orrery/scenarios"
        line = [prefix / "bin/orrery", "simulate", scenarios / "laptop-2gpu.yaml",
                "--set", "network.fidelity=simgrid"]
        message = run(*line, cwd=self.path, status=2)
        self.assertIn("liborrery_simgrid.so", message)
        self.assertIn("orrery-simgrid", message)
        self.install("simgrid")
        if not (prefix / "lib/orrery/liborrery_simgrid.so").exists():
            self.skipTest("this build has no SimGrid")
        run(*line, cwd=self.path)

    def test_is_a_library_for_other_programs(self):
        self.install("orrery", "dev").rename(self.path / "moved")
        prefix = self.path / "moved"
        headers = {file.name for file in (prefix / "include/orrery").rglob("*") if file.is_file()}
        self.assertEqual({name for name in headers if not name.endswith(".h")}, set())
        project = shutil.copytree(EXAMPLE, self.path / "example")
        run(CMAKE, "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={prefix}",
            cwd=self.path)
        run(CMAKE, "--build", project / "build", cwd=self.path)
        line = [project / "build/step_times", prefix / "share/orrery/scenarios/laptop-2gpu.yaml"]
        answer = json.loads(run(prefix / "bin/orrery", "simulate", line[1], "--json",
                                "--set", "plan.micro_batch_size=2", cwd=self.path))
        self.assertEqual(run(*line, 2, cwd=self.path),
                         f"micro-batch 2: {answer['iteration_s']:.3f} s, "
                         f"MFU {100 * answer['mfu']:.1f} %, fits\n")
        guide = (EXAMPLE.parents[1] / "docs" / "guide" / "library.md").read_text("utf-8")
        self.assertIn(f"```text\n{run(*line, 2, 4, 8, cwd=self.path)}```\n", guide)
        self.assertIn("micro_batch_size", run(*line, 0, cwd=self.path, status=2))

    @unittest.skipUnless(shutil.which("dpkg-shlibdeps") and shutil.which("dpkg-deb"),
                         "this is no Debian")
    def test_is_debian_packages(self):
        cpack = shutil.which("cpack", path=os.path.dirname(shutil.which(CMAKE)))
        run(cpack, "-G", "DEB", "--config", Path(BUILD) / "CPackConfig.cmake", "-B", self.path,
            cwd=self.path)
        packages = {run("dpkg-deb", "--field", file, "Package", cwd=self.path).strip(): file
                    for file in glob.glob(str(self.path / "*.deb"))}
        self.assertLessEqual({"orrery", "liborrery-dev"}, set(packages))
        depends = {name: run("dpkg-deb", "--field", file, "Depends", cwd=self.path)
                   for name, file in packages.items()}
        self.assertIn("libyaml-cpp", depends["orrery"])
        for other in ("mpi", "simgrid", "-dev"):
            self.assertNotIn(other, depends["orrery"])
        for module in ("mpi", "simgrid"):
            if f"orrery-{module}" in packages:
                self.assertIn(module, depends[f"orrery-{module}"])
                self.assertIn("orrery (=", depends[f"orrery-{module}"])

        run("dpkg-deb", "-x", packages["orrery"], self.path / "root", cwd=self.path)
        self.assertEqual(glob.glob(str(self.path / "root/usr/lib/orrery/*_mpi.so")), [])
        self.check(self.path / "root" / "usr")
        run("dpkg-deb", "-x", packages["liborrery-dev"], self.path / "root", cwd=self.path)
        config = self.path / "root/usr/lib/cmake/orrery/orrery-config.cmake"
        self.assertTrue(config.is_file())


if __name__ == "__main__":
    BUILD = os.path.abspath(sys.argv.pop(1))
    unittest.main()
