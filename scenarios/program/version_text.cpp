// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/version_text.h"

#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/format/provenance/fingerprint.h"
#include "scenarios/format/provenance/version.h"

namespace orrery {

std::string version_text() {
    const BuildIdentity& build = build_identity();
    std::string text = "orrery " + build.version;
    const auto line = [&](const char* what, const std::string& value) {
        text += value.empty() ? "" : std::string{"\n"} + what + value;
    };
    line("commit    ", build.commit + (build.changed ? " with changes" : ""));
    line("sources   ", build.sources);
    line("catalogue ", catalogue_fingerprint(default_catalogue()));
    line("compiler  ", build.compiler);
    std::string features;
    for (const std::string& feature : build.features) {
        features += (features.empty() ? "" : ", ") + feature;
    }
    line("features  ", features);
    return text;
}

}  // namespace orrery
