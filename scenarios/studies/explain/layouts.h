// SPDX-License-Identifier: Apache-2.0
// How the tensors of one pipeline stage lie on its ranks, phase by phase, and the transfers that
// change that: read off the lowered Program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/program/program.h"

namespace orrery {

// A collective or message that takes tensors of a row to another layout or another rank.
struct LayoutTransfer {
    std::string name;  // of the op: "gradient reduce"
    std::string kind;  // "reduce_scatter", "send"
    std::string over;  // the group, or the digit of the neighbour
    Dtype wire = Dtype::bf16;
    Bytes bytes;             // one rank's, a step, in all
    std::int64_t times = 0;  // a step
    bool operator==(const LayoutTransfer&) const = default;
};

// Tensors that are alike. Those of all layers are one: "layers.*.mlp.linear_fc1.weight".
struct LayoutRow {
    std::string phase;  // "between steps", or the pass that makes it: "forward"
    TensorKind kind = TensorKind::activations;
    std::vector<std::string> tensors;
    std::string placement;       // "tp/output dp/elements": by digit
    std::string step_placement;  // at the end of the step, if another one
    std::string tier;            // of memory
    Dtype codec = Dtype::bf16;   // as it lies in memory
    Lifetime lifetime = Lifetime::slot;
    Bytes bytes;  // one rank's, of all these tensors, each held once
    std::vector<LayoutTransfer> transfers;
};

struct StageLayouts {
    std::string role;             // "pp 0"
    std::string mesh;             // "tp 8, dp 4, pp 2"
    std::vector<LayoutRow> rows;  // state first, then in the order of first use
};

StageLayouts layouts_of(const Program& program, RoleId role);

}  // namespace orrery
