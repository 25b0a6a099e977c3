// SPDX-License-Identifier: Apache-2.0
// Published times of collectives (the columns of catalogue/published/collectives.csv) beside those
// of the network model, with one catalogue for all rows. A table that a Python program timed call
// by call includes the host's launch in every row, since each call waits for the one before:
// kEagerLaunch. Rows of unknown networks are skipped and reported.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/format/specs/scenario.h"

namespace orrery {

// Host time of one call of torch.distributed. It shows where calls are timed one by one; training
// steps launch ahead and hide it. No independent figure is published. The launch of a table is
// therefore the median excess of small collectives on one server over their prediction, in the
// other such tables. This value is the median over the shipped tables, for a table that is
// validated alone.
inline constexpr double kEagerLaunch_us = 26.2;

struct CollectiveCase {
    std::string collective;
    std::string gpu;
    std::uint32_t num_gpus = 0;
    std::uint32_t num_nodes = 0;
    std::string fabric;  // "nvlink4-nvls", "nvlink4+eth400-roce", "nvlink4-ring" …
    Bytes bytes;
    double measured_us = 0;
    std::string source;
    std::string where;
    std::string family() const;  // "h200 2x8 nvlink4+eth400-roce"
};

struct ValidatedCollective {
    CollectiveCase of;
    double predicted_us = 0;
    double launch_us = 0;  // host's part of predicted_us where calls were timed one by one
    std::string algorithm;
    std::string protocol;
    double error() const { return predicted_us / of.measured_us - 1; }
};

struct CollectiveFamily {
    std::string name;
    std::size_t rows_small = 0;  // below 1 MiB
    std::size_t rows_large = 0;
    double median_small = 0;  // of the absolute errors, like the next two
    double median_large = 0;
    double max_large = 0;
};

struct SkippedCollective {
    std::string family;
    std::string reason;
};

struct CollectiveValidation {
    std::vector<ValidatedCollective> rows;
    std::vector<SkippedCollective> skipped;  // by family
    std::vector<CollectiveFamily> families;
    CollectiveFamily all;
};

// Whether the first line of the file is the header of a table of collectives.
bool is_collective_table(const std::string& file);
ResultOrErrors<std::vector<CollectiveCase>> read_collective_cases(const std::string& file);
// The cluster of a row, or an error that says why it is unknown.
Result<Scenario> scenario_of(const CollectiveCase& row, const std::filesystem::path& catalogue);
Result<CollectiveValidation> validate_collectives(const std::vector<CollectiveCase>& cases,
                                                  const std::filesystem::path& catalogue);

}  // namespace orrery
