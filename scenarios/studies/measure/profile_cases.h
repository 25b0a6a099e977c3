// SPDX-License-Identifier: Apache-2.0
// The small models whose training steps `orrery profile` measures: shapes about an octave apart in
// every dimension, both families (GPT and Llama), and for several ranks every way in which they can
// share the work, so that all kernels and collectives appear in the sizes that such models have.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/format/document/document_node.h"

namespace orrery {

struct ProfileCase {
    std::string name;
    std::uint32_t ranks = 1;
    std::int64_t vocabulary = 256;
    DocumentNode scenario;  // but for job.dataset
};

// `ranks`: of one node. `precision`: fp32 or bf16.
std::vector<ProfileCase> profile_cases(std::uint32_t ranks, const std::string& precision);

// The same for GPUs, with models that fill one for a moment and fit 16 GiB; `cluster` is a document
// with the section of that name (scenarios/studies/measure/discovered_cluster.h).
std::vector<ProfileCase> gpu_profile_cases(std::uint32_t ranks,
                                           const std::string& precision,
                                           const DocumentNode& cluster);

}  // namespace orrery
