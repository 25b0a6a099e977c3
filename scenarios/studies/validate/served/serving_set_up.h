// SPDX-License-Identifier: Apache-2.0
// The serving scenario of a published row: one mapping for all rows.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/studies/validate/served/serving_cases.h"

namespace orrery {

struct ServingSetUp {
    Scenario scenario;  // with the row's model, serving and workload
    std::vector<Request> requests;
    Time held;  // mean time that a collecting client holds requests before their arrival
};

// A cluster of `gpus` GPUs by the name in published rows: one server, or several with a fabric.
Result<Scenario> serving_cluster(std::string_view gpu,
                                 std::int64_t gpus,
                                 const std::string& where,
                                 const std::filesystem::path& catalogue);

// One of the row's replicas with its share of the load. `traces` is the folder of recorded
// requests. The error says what is not expressible.
Result<ServingSetUp> set_up_of(const ServingCase& row,
                               const PublishedModel& model,
                               const std::filesystem::path& catalogue,
                               const std::filesystem::path& traces);

}  // namespace orrery
