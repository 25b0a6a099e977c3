# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel of this package with Python's standard library alone (PEP 517, PEP 660), so that
pip installs it where there is no network and no setuptools. The metadata come from pyproject.toml."""

import base64
import hashlib
import pathlib
import re
import tarfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent
SOURCES = ROOT / "src"
MADE = (1980, 1, 1, 0, 0, 0)  # of every file: the same sources give the same wheel


def value(key):
    return re.search(rf'^{key} = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.M)[1]


def metadata():
    project = (ROOT / "pyproject.toml").read_text()
    lines = ["Metadata-Version: 2.1", f"Name: {value('name')}", f"Version: {value('version')}",
             f"Summary: {value('description')}", f"Requires-Python: {value('requires-python')}",
             "License: Apache-2.0", "Description-Content-Type: text/markdown"]
    extras = project.split("[project.optional-dependencies]\n")[1].split("\n[")[0]
    for extra, packages in re.findall(r"^([\w-]+) = \[(.*)\]$", extras, re.M):
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {package}; extra == "{extra}"'
                  for package in re.findall(r'"(.+?)"', packages)]
    return "\n".join(lines) + "\n\n" + (ROOT / "README.md").read_text()


def stem():
    return f"{value('name')}-{value('version')}"


def write_wheel(folder, files):
    """`files`: the bytes of each file by its name. Returns the wheel's name."""
    about = f"{stem()}.dist-info"
    files = {**files, f"{about}/METADATA": metadata().encode(),
             f"{about}/WHEEL": b"Wheel-Version: 1.0\nGenerator: orrery\nRoot-Is-Purelib: true\n"
                               b"Tag: py3-none-any\n"}
    record = ""
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(content)}\n"
    files[f"{about}/RECORD"] = (record + f"{about}/RECORD,,\n").encode()
    wheel = f"{stem()}-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(folder, wheel), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, MADE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)
    return wheel


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return write_wheel(wheel_directory, {
        path.relative_to(SOURCES).as_posix(): path.read_bytes()
        for path in sorted(SOURCES.glob("orrery/*")) if path.suffix in (".py", ".typed")})


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return write_wheel(wheel_directory, {f"{value('name')}.pth": f"{SOURCES}\n".encode()})


def build_sdist(sdist_directory, config_settings=None):
    name = f"{stem()}.tar.gz"
    (path_of_info := pathlib.Path(sdist_directory, "PKG-INFO")).write_text(metadata())
    with tarfile.open(pathlib.Path(sdist_directory, name), "w:gz") as archive:
        archive.add(path_of_info, f"{stem()}/PKG-INFO")
        for path in [ROOT / "pyproject.toml", ROOT / "README.md", ROOT / "build_backend.py",
                     *sorted(SOURCES.glob("orrery/*.*"))]:
            archive.add(path, f"{stem()}/{path.relative_to(ROOT).as_posix()}")
    path_of_info.unlink()
    return name
