// SPDX-License-Identifier: Apache-2.0
// The version of this program and what it was built from, as `orrery --version` and the provenance
// of every result give them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace orrery {

extern const std::string_view kVersion;  // "0.1.0"

struct BuildIdentity {
    std::string version;
    std::string commit;    // of git; empty: not built inside a clone
    bool changed = false;  // the clone had changes that were not committed
    // SHA-256 of the sources that decide results: two builds with the same hash answer the same.
    // Empty where the library is part of another program than `orrery`.
    std::string sources;
    std::string compiler;
    std::vector<std::string> features;  // "cuda 13.0", "nccl", "simgrid", "mpi"

    bool operator==(const BuildIdentity&) const = default;
    // "0.1.0+6099a8f98364": version and sources, what a sweep knows its results by.
    std::string short_name() const;
    // "0.1.0, commit 081a273aa5a3 with changes, sources 6099a8f98364"
    std::string words() const;
};

// Only the version is known until the program has said more.
const BuildIdentity& build_identity();
void set_build_identity(BuildIdentity identity);

// Defined in a source that cmake/build_identity.cmake writes, which only `orrery` is linked with:
// a new commit links one program anew and compiles one file.
BuildIdentity identity_of_this_program();

}  // namespace orrery
