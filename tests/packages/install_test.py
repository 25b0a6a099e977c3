#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs a build into an empty folder and as a Debian package, and runs it from there:
install_test.py BUILD

The installed folder is moved, and its catalogue changed: the program must follow it and must not
look into the source tree, whose path is compiled in.
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

        devices = catalogue / "devices"
        (devices / "rtx-4090.yaml").rename(devices / "moved-gpu.yaml")
        listed = run(program, "catalogue", "devices", cwd=self.path)
        self.assertIn("moved-gpu", listed)
        self.assertNotIn("rtx-4090", listed)
        self.assertIn("rtx-4090", run(program, "simulate",
                                      share / "scenarios" / "laptop-2gpu.yaml", cwd=self.path,
                                      status=2))

    def test_runs_where_it_was_moved_to(self):
        run(CMAKE, "--install", BUILD, "--prefix", self.path / "first", cwd=self.path)
        (self.path / "first").rename(self.path / "second")
        self.check(self.path / "second")

    def test_finds_its_modules(self):
        run(CMAKE, "--install", BUILD, "--prefix", self.path / "first", cwd=self.path)
        if not (self.path / "first/lib/orrery/liborrery_simgrid.so").exists():
            self.skipTest("this build has no SimGrid")
        scenarios = self.path / "first/share/orrery/scenarios"
        line = [self.path / "first/bin/orrery", "simulate", scenarios / "laptop-2gpu.yaml",
                "--set", "network.fidelity=simgrid"]
        run(*line, cwd=self.path)
        shutil.rmtree(self.path / "first/lib/orrery")
        self.assertIn("liborrery_simgrid.so", run(*line, cwd=self.path, status=2))

    @unittest.skipUnless(shutil.which("dpkg-shlibdeps") and shutil.which("dpkg-deb"),
                         "this is no Debian")
    def test_is_a_debian_package(self):
        cpack = shutil.which("cpack", path=os.path.dirname(shutil.which(CMAKE)))
        run(cpack, "-G", "DEB", "--config", Path(BUILD) / "CPackConfig.cmake", "-B", self.path,
            cwd=self.path)
        package, = glob.glob(str(self.path / "*.deb"))
        depends = run("dpkg-deb", "--field", package, "Depends", cwd=self.path)
        self.assertIn("libyaml-cpp", depends)
        run("dpkg-deb", "-x", package, self.path / "root", cwd=self.path)
        self.check(self.path / "root" / "usr")


if __name__ == "__main__":
    BUILD = os.path.abspath(sys.argv.pop(1))
    unittest.main()
