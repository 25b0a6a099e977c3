// SPDX-License-Identifier: Apache-2.0
// The small models whose training steps `orrery profile` measures. Their shapes are about an octave
// apart in every dimension. They include both families (GPT and Llama) and, for several ranks,
// every way to share the work. All kernels and collectives therefore occur in the sizes of such
// models.
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
    DocumentNode scenario;  // complete but for job.dataset
};

// `ranks`: of one node. `precision`: fp32 or bf16.
std::vector<ProfileCase> profile_cases(std::uint32_t ranks, const std::string& precision);

// The same for GPUs, with models that keep a GPU busy for a moment and fit in 16 GiB. `cluster` is
// a document with that section (scenarios/studies/measure/discovered_cluster.h).
std::vector<ProfileCase> gpu_profile_cases(std::uint32_t ranks,
                                           const std::string& precision,
                                           const DocumentNode& cluster);

}  // namespace orrery
