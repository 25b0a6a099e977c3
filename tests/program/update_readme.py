#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fills in the outputs that README.md shows: tests/program/update_readme.py [PATTERN]

What stands between `<!-- output: COMMAND -->` and `<!-- end -->` is replaced by what the command
prints (a Markdown table as it is, anything else as a block of text). With a pattern, only of the
commands that match it.
"""
import os
import re
import subprocess
import sys

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
pattern = re.compile(sys.argv[1] if len(sys.argv) > 1 else "")


def filled(match: re.Match) -> str:
    command = match.group(1)
    if not pattern.search(command):
        return match.group(0)
    print(command, file=sys.stderr)
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True)
    lines = (done.stdout + done.stderr).strip("\n").split("\n")
    output = "\n".join(line.rstrip() for line in lines)
    if not output.startswith("|"):
        output = f"```text\n{output}\n```"
    return f"<!-- output: {command} -->\n{output}\n<!-- end -->"


with open("README.md", encoding="utf-8") as file:
    text = file.read()
text = re.sub(r"<!-- output: (.*?) -->\n.*?<!-- end -->", filled, text, flags=re.S)
with open("README.md", "w", encoding="utf-8") as file:
    file.write(text)
