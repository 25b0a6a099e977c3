// SPDX-License-Identifier: Apache-2.0
// A small gated model, and what its Program has by name.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "engine/program/program.h"
#include "models/memory/memory.h"
#include "tests/models/known_models.h"
#include "tests/models/lowered_experts.h"

namespace orrery {

inline Transformer small_llama(std::int64_t layers = 2) {
    Transformer model = llama(layers, 256, 512, 2, 1024);
    model.num_attention_heads = 4;
    model.kv_channels = 64;
    model.seq_length = 4096;
    return model;
}

inline std::vector<const Op*> ops_called(const Program& program, std::string_view name) {
    std::vector<const Op*> ops;
    for (const Segment& segment : program.segments) {
        for (const Op& op : segment.ops) {
            if (program.names[op.name] == name) {
                ops.push_back(&op);
            }
        }
    }
    return ops;
}

inline std::int64_t bytes_of_tensor(const Program& program, std::string_view name) {
    std::int64_t most = 0;
    for (const Tensor& tensor : program.tensors) {
        most = tensor.name == name ? std::max(most, tensor.bytes.count()) : most;
    }
    return most;
}

inline double flop_of(const Program& program, std::string_view name) {
    double sum = 0;
    for (const Op* op : ops_called(program, name)) {
        sum += program.kernel(*op).flop;
    }
    return sum;
}

inline std::int64_t activation_peak(const Program& program) {
    return role_memory(program, RoleId{0}, Bytes{}).at_peak[TensorKind::activations].count();
}

}  // namespace orrery
