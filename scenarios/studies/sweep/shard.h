// SPDX-License-Identifier: Apache-2.0
// A shard of a study: the points for one of several machines. Shard 3/64 has every 64th point,
// beginning with the third. In a Slurm job array each task is a shard.
#pragma once

#include <cstdint>
#include <string>

#include "engine/base/result.h"

namespace orrery {

struct Shard {
    std::int64_t number = 1;  // 1 … of
    std::int64_t of = 1;

    bool has(std::int64_t point) const { return point % of == number - 1; }
    bool operator==(const Shard&) const = default;
};

// "3/64".
Result<Shard> parse_shard(const std::string& text);

// The shard of SLURM_ARRAY_TASK_ID, _MIN, _MAX and _STEP (only arrays without gaps can be shards:
// 0-63, 1-8). The whole study if the variables are not set.
Result<Shard> shard_of_environment();

}  // namespace orrery
