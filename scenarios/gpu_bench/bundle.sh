#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Puts what a GPU machine needs into one folder: a machine without Debian's packages, a compiler or
# a network. It needs NVIDIA's driver there, and cuBLAS and NCCL (PyTorch's will do).
#
#   scenarios/gpu_bench/bundle.sh [BUILD [FOLDER]]      build and build/gpu if not given
#
# BUILD has been built: its program (and, with tests, kernel_check). In FOLDER, which is made anew:
#   bin/        the programs, without symbols, and the modules that the program loads
#   lib/        the shared libraries they need, but for the C and C++ library's own
#   scenarios/  the catalogue and the scenarios of one GPU, and what gpu_hour.sh runs
# The catalogue and the libraries are found from where the program lies. gpu_hour.sh runs it there.
set -euo pipefail

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
build=${1:-$root/build}
folder=${2:-$build/gpu}

die() {
    printf 'bundle: %s\n' "$*" >&2
    exit 1
}

# Those that every Linux machine has, in a version that goes with its kernel and its compiler.
of_every_machine='^(linux-vdso|ld-linux|libc|libm|libdl|librt|libpthread|libutil|libresolv'
of_every_machine+='|libstdc\+\+|libgcc_s)[.-]'

# The files that a program or a library loads at its start, its libraries' own among them.
libraries_of() {
    local line name path
    ldd "$1" | while read -r line; do
        name=${line%% *}
        name=${name##*/}
        [[ ! $name =~ $of_every_machine && $line != *'statically linked' ]] || continue
        [[ $line != *'=> not found'* ]] || die "$1 needs $name, which is not on this machine"
        path=${line#*=> }
        printf '%s\n' "${path%% (*}"
    done
}

put_library() {
    local name=${1##*/}
    [[ -e $folder/lib/$name ]] || cp -L -- "$1" "$folder/lib/$name"
}

put_program() {
    local file=$1 libraries
    cp -- "$file" "$folder/bin/"
    strip --strip-unneeded "$folder/bin/${file##*/}"
    libraries=$(libraries_of "$file")
    [[ $libraries != *libsimgrid* ]] ||
        die "${file##*/} is linked with SimGrid, which is not carried"
    while IFS= read -r library; do
        [[ -z $library ]] || put_library "$library"
    done <<<"$libraries"
}

[[ -x $build/bin/orrery ]] || die "there is no program $build/bin/orrery: build it first"
# Only what an earlier bundle has put there is removed.
if [[ -e $folder && ! -e $folder/lib/of-a-bundle && -n $(ls -A -- "$folder" 2>&1) ]]; then
    die "$folder has files that are not a bundle's"
fi
rm -rf -- "$folder"
mkdir -p "$folder/bin" "$folder/lib" "$folder/scenarios"
touch "$folder/lib/of-a-bundle"
put_program "$build/bin/orrery"
# SimGrid judges and MPI spreads sweeps: neither is for a GPU machine, and each brings 40 MB.
for module in "$build"/bin/*.so; do
    [[ ! -e $module || $module == *simgrid* || $module == *mpi* ]] || put_program "$module"
done
if [[ -x $build/tests/gpu/kernel_check ]]; then
    put_program "$build/tests/gpu/kernel_check"
else
    printf 'bundle: without kernel_check, which is built with the tests\n' >&2
fi
cp -r -- "$root/scenarios/catalogue" "$root/scenarios/gpu_bench" "$folder/scenarios/"
cp -- "$root"/scenarios/gpt2-*.yaml "$root"/scenarios/train-tiny* "$folder/scenarios/"
printf '%s: %s MB\n' "$folder" "$(du -sm -- "$folder" | cut -f 1)"
