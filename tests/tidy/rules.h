// SPDX-License-Identifier: Apache-2.0
// The rules of the house that a machine can hold. Each rule reads a tree and returns what breaks
// it, at most one finding a place.
#pragma once

#include <string>
#include <vector>

#include "tests/tidy/source_tree.h"

namespace orrery::tidy {

struct Finding {
    std::string rule;
    std::string path;
    std::string detail;
};
using Findings = std::vector<Finding>;

// engine <- {network, kernels} <- models <- runtime <- scenarios, and tests see everything.
Findings include_direction(const SourceTree& tree);
// In scenarios, format <- studies <- report <- program; no source lies beside these floors.
Findings floor_direction(const SourceTree& tree);
// In engine, network, models and scenarios, no folder reaches itself through others' includes.
Findings folder_cycle(const SourceTree& tree);
// 500 lines a file, 120 one of a command, 70 a function, 100 columns.
Findings file_length(const SourceTree& tree);
Findings command_length(const SourceTree& tree);
Findings function_length(const SourceTree& tree);
Findings line_length(const SourceTree& tree);
Findings licence(const SourceTree& tree);
Findings pragma_once(const SourceTree& tree);
// A header says what it is for below its licence.
Findings purpose(const SourceTree& tree);
// No file is named for what it is to other files: common, utils, misc, helpers.
Findings file_names(const SourceTree& tree);
// engine/program/mesh.cpp has tests/engine/program/mesh_test.cpp.
Findings mirrored_test(const SourceTree& tree);
// A source that no CMakeLists.txt names is dead.
Findings dead_source(const SourceTree& tree);
// Each big library has one owner (JSON three: two readers and a served API); fmt stays out of
// headers.
Findings third_party(const SourceTree& tree);
// nvcc never sees fmt, spdlog, yaml-cpp, nlohmann-json or CLI11, however indirectly.
Findings cuda_reach(const SourceTree& tree);
// The checkout works wherever it lies.
Findings machine_path(const SourceTree& tree);
// In models/, only the assignment of layouts and what it is made from reads `*_parallel_size`:
// everything else derives communication from layouts.
Findings parallel_size(const SourceTree& tree);
// In models/, only models/segments/relayout.cpp adds collectives and copies to a Program.
Findings one_emitter(const SourceTree& tree);
// No two headers define a type of one name: the linker would mix their functions.
Findings one_definition(const SourceTree& tree);

Findings all_findings(const SourceTree& tree);

}  // namespace orrery::tidy
