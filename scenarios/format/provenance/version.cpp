// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/provenance/version.h"

#include <utility>

namespace orrery {
namespace {

constexpr std::size_t kShortHash = 12;

BuildIdentity& known_identity() {
    static BuildIdentity identity{.version = std::string{kVersion}};
    return identity;
}

}  // namespace

const std::string_view kVersion = ORRERY_VERSION;

std::string BuildIdentity::short_name() const {
    return sources.empty() ? version : version + "+" + sources.substr(0, kShortHash);
}

std::string BuildIdentity::words() const {
    std::string text = version;
    if (!commit.empty()) {
        text += ", commit " + commit.substr(0, kShortHash) + (changed ? " with changes" : "");
    }
    return sources.empty() ? text : text + ", sources " + sources.substr(0, kShortHash);
}

const BuildIdentity& build_identity() {
    return known_identity();
}

void set_build_identity(BuildIdentity identity) {
    known_identity() = std::move(identity);
}

}  // namespace orrery
