// SPDX-License-Identifier: Apache-2.0
// A published row as a scenario of kind serving: one mapping for all rows.
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
    Scenario scenario;  // its model, serving and workload are the row's
    std::vector<Request> requests;
    Time held;  // mean, by a client that collects requests, before their arrival
};

// A cluster of `gpus` GPUs of a kind that published rows name: one server, or several with a
// fabric.
Result<Scenario> serving_cluster(std::string_view gpu,
                                 std::int64_t gpus,
                                 const std::string& where,
                                 const std::filesystem::path& catalogue);

// One of the row's replicas with its share of the load. `traces`: the folder of recorded requests.
// An Error says what cannot be expressed.
Result<ServingSetUp> set_up_of(const ServingCase& row,
                               const Transformer& model,
                               const std::filesystem::path& catalogue,
                               const std::filesystem::path& traces);

}  // namespace orrery
