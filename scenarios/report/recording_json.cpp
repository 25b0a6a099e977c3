// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/recording_json.h"

#include <nlohmann/json.hpp>

#include "scenarios/format/document/output_file.h"
#include "scenarios/report/provenance_report.h"
#include "scenarios/report/render/json_text.h"

namespace orrery {

std::string recording_json(const RunDescription& run, const Provenance& provenance) {
    const nlohmann::ordered_json json{
        {"machine", run.machine}, {"ranks", run.ranks}, {"overlaps", run.overlaps}};
    return with_provenance(json_text(json), provenance);
}

Result<void> write_run_description(const std::filesystem::path& folder,
                                   const Scenario& scenario,
                                   const RunDescription& run) {
    return OutputFile::write(run_description_file(folder),
                             recording_json(run, provenance_of("train", scenario)));
}

}  // namespace orrery
