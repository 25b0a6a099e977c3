// SPDX-License-Identifier: Apache-2.0
// The layouts of the tensors of one pipeline stage, phase by phase, and the transfers that change
// them, read from the lowered Program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/program/program.h"

namespace orrery {

// A collective or message that moves tensors of a row to another layout or another rank.
struct LayoutTransfer {
    std::string name;  // of the op: "gradient reduce"
    std::string kind;  // "reduce_scatter", "send"
    std::string over;  // the group, or the digit of the neighbour
    Dtype wire = Dtype::bf16;
    Bytes bytes;             // one rank's bytes in a step, all transfers together
    std::int64_t times = 0;  // a step
    bool operator==(const LayoutTransfer&) const = default;
};

// Tensors of equal layout. All layers share one row: "layers.*.mlp.linear_fc1.weight".
struct LayoutRow {
    std::string phase;  // "between steps", or the pass that makes it: "forward"
    TensorKind kind = TensorKind::activations;
    std::vector<std::string> tensors;
    std::string placement;       // "tp/output dp/elements": by digit
    std::string step_placement;  // at the end of the step, if it differs
    std::string tier;            // of memory
    Dtype codec = Dtype::bf16;   // in memory
    Lifetime lifetime = Lifetime::slot;
    Bytes bytes;  // one rank's bytes of all these tensors, each counted once
    std::vector<LayoutTransfer> transfers;
};

struct StageLayouts {
    std::string role;             // "pp 0"
    std::string mesh;             // "tp 8, dp 4, pp 2"
    std::vector<LayoutRow> rows;  // state first, then in the order of first use
};

StageLayouts layouts_of(const Program& program, RoleId role);

}  // namespace orrery
