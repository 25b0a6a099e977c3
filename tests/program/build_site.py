#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the site of docs/ with mkdocs; a warning is an error. Exit status 77: no mkdocs."""
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import pages  # noqa: E402


def main():
    if not shutil.which("mkdocs"):
        print("skipped: mkdocs is not installed")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
                              cwd=pages.ROOT, capture_output=True, text=True, check=False)
        print(done.stdout + done.stderr)
        built = os.path.exists(os.path.join(folder, "index.html"))
        return 0 if done.returncode == 0 and built and not done.stderr.strip() else 1


if __name__ == "__main__":
    sys.exit(main())
