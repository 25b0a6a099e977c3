// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/sweep/shard.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace orrery {
namespace {

constexpr std::int64_t kShardsMax = 1'000'000;

std::optional<std::int64_t> whole_number(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || text.empty()) {
        return std::nullopt;
    }
    return value;
}

// The variable's number; `otherwise` if it is not set.
Result<std::int64_t> variable(const char* name, std::int64_t otherwise) {
    const char* text = std::getenv(name);
    if (text == nullptr || *text == 0) {
        return otherwise;
    }
    const auto value = whole_number(text);
    if (!value) {
        return fail(name, fmt::format("'{}' is not a whole number", text), "set by Slurm's sbatch");
    }
    return *value;
}

}  // namespace

Result<Shard> parse_shard(const std::string& text) {
    const std::size_t slash = std::min(text.find('/'), text.size());
    const std::string_view all{text};
    const std::int64_t number = whole_number(all.substr(0, slash)).value_or(0);
    const std::int64_t of = whole_number(all.substr(std::min(slash + 1, all.size()))).value_or(0);
    if (of < 1 || of > kShardsMax || number < 1 || number > of) {
        return fail("--shard",
                    fmt::format("'{}' is not a shard", text),
                    "write it like 3/64: the third of 64, counted from 1");
    }
    return Shard{.number = number, .of = of};
}

Result<Shard> shard_of_environment() {
    constexpr std::int64_t kUnset = -1;
    const auto task = variable("SLURM_ARRAY_TASK_ID", kUnset);
    const auto least = variable("SLURM_ARRAY_TASK_MIN", 0);
    const auto most = variable("SLURM_ARRAY_TASK_MAX", kUnset);
    const auto step = variable("SLURM_ARRAY_TASK_STEP", 1);
    const auto count = variable("SLURM_ARRAY_TASK_COUNT", kUnset);
    for (const auto* value : {&task, &least, &most, &step, &count}) {
        if (!*value) {
            return unexpected<Error>(value->error());
        }
    }
    if (*task == kUnset || *count == kUnset) {
        return Shard{};
    }
    const bool even = *step >= 1 && *task >= *least && (*task - *least) % *step == 0 &&
                      (*most == kUnset || (*most - *least) / *step + 1 == *count);
    const Shard shard{.number = even ? (*task - *least) / *step + 1 : 0, .of = *count};
    if (shard.number < 1 || shard.number > shard.of) {
        return fail("SLURM_ARRAY_TASK_ID",
                    "the tasks of this job array are not evenly spaced, so they can't be shards",
                    "use --array=0-63, or say --shard yourself");
    }
    return shard;
}

}  // namespace orrery
