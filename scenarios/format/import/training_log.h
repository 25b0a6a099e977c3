// SPDX-License-Identifier: Apache-2.0
// Converts a log of Megatron-LM or torchtitan to a row of a table of measured steps
// (docs/reference/files.md) for `orrery validate`. Sizes come from the arguments that the program
// prints at its start, the step's time from its progress lines. Values that a log lacks must be
// given or are assumed; the row's column `assumed` lists these.
//   Megatron-LM  " name ..... value" between "arguments" and "end of arguments"; "elapsed time per
//                iteration (ms): 1234.5" (megatron/training/arguments.py, training.py)
//   torchtitan   "Building ... ModelArgs(dim=4096, ...)", "Training starts at step 1, with ...",
//                "step: 10 ... tps: 5,762" (torchtitan/train.py, torchtitan/components/metrics.py)
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/base/result.h"

namespace orrery {

struct TrainingLogImport {
    std::string gpu;       // name in tables: "h100-80g"; empty: from the log
    std::string software;  // empty: megatron-core or torchtitan
    std::string fabric;    // words of a table's column: "ib-ndr400-rail"; empty: assumed
    double nic_gbps = 0;   // per GPU; 0: assumed for several servers
    std::int64_t gpus_per_node = 8;
};

struct ImportedLog {
    std::map<std::string, std::string> row;  // by column
    std::int64_t steps = 0;                  // number of steps whose median is the time
    std::vector<std::string> assumed;        // columns
};

// `source` is the log's name in errors. All missing values are reported at once.
ResultOrErrors<ImportedLog> import_training_log(const std::string& text,
                                                const std::string& source,
                                                const TrainingLogImport& options);

// The table of these rows, with its header.
std::string case_table(const std::vector<ImportedLog>& logs);

}  // namespace orrery
