// SPDX-License-Identifier: Apache-2.0
// The version of this program and its sources, for `orrery --version` and the provenance of every
// result.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace orrery {

extern const std::string_view kVersion;  // "0.1.0"

struct BuildIdentity {
    std::string version;
    std::string commit;    // of git; empty: not built inside a clone
    bool changed = false;  // the clone had uncommitted changes
    // SHA-256 of the sources that determine results: two builds with equal hashes give equal
    // results. Empty if the library is part of another program than `orrery`.
    std::string sources;
    std::string compiler;
    std::vector<std::string> features;  // "cuda 13.0", "nccl", "simgrid", "mpi"

    bool operator==(const BuildIdentity&) const = default;
    // "0.1.0+6099a8f98364": version and sources, by which a sweep recognises its results.
    std::string short_name() const;
    // "0.1.0, commit 081a273aa5a3 with changes, sources 6099a8f98364"
    std::string words() const;
};

// Only the version is known before set_build_identity().
const BuildIdentity& build_identity();
void set_build_identity(BuildIdentity identity);

// Defined in a source that cmake/build_identity.cmake writes and only `orrery` links. A new commit
// therefore compiles one file and links one program.
BuildIdentity identity_of_this_program();

}  // namespace orrery
