// SPDX-License-Identifier: Apache-2.0
// The weights of a served layer on a rank.
#pragma once

#include "runtime/serve/paged_decoder.h"
#include "runtime/serve/served_adapters.h"

namespace orrery {

inline std::size_t matrix_size(std::int64_t rows, std::int64_t columns) {
    return static_cast<std::size_t>(rows * columns);
}

// Of one projection; empty where there are none.
struct PagedDecoder::Adapters {
    std::vector<float> a;  // [adapters, rank, inputs]
    std::vector<float> b;  // [adapters, rank, columns of this rank]
};

struct PagedDecoder::Layer {
    std::vector<float> norm1;
    std::vector<float> qkv;  // [hidden, heads of this rank: queries, keys, values]
    std::vector<float> qkv_bias;
    std::vector<float> projection;  // [context, columns of this rank]
    std::vector<float> projection_bias;
    std::vector<float> norm2;
    std::vector<float> fc1;
    std::vector<float> fc1_bias;
    std::vector<float> fc2;
    std::vector<float> fc2_bias;
    AdaptersOfLayer<Adapters> adapters;
    ServedExperts experts;  // in place of fc1 and fc2, if the layer has some
    std::int64_t window = 0;
};

}  // namespace orrery
