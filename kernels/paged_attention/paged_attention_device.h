// SPDX-License-Identifier: Apache-2.0
// The kernels of kernels/paged_attention/paged_attention_cuda.h. A context is cut into partitions
// of 512 keys, as in the second version of vLLM's kernel and in Flash-Decoding: a block has one
// partition of one row for some query heads of one key-value head, and a last kernel joins the
// partitions. Partitions begin at fixed positions, so neither the batch nor the length of other
// contexts changes the bits of a row.
//
// Teams of lanes take keys in turn, a lane eight columns of each. Softmax is online, with powers of
// two, as in the other attention kernels (kernels/attention/attention_forward_device.h).
#pragma once

#include <cmath>

#include "kernels/attention/attention_forward_device.h"
#include "kernels/cuda/row_pass.h"
#include "kernels/paged_attention/paged_attention_cuda.h"
#include "kernels/rope/rope_device.h"

namespace orrery::device {

inline constexpr int kPagedThreads = 128;
inline constexpr int kPagedColumns = 8;  // of a lane
static_assert(kPagedColumns * kWarp == kPagedHeadMax);

// A thread has a column of the first half of a head and its partner in the second half.
template <class T>
struct RotateAndStoreKernel {
    static constexpr int kThreadsMax = 128;
    static constexpr int kHeads = 8;  // of a thread
    PagedShape shape;
    bool turns;
    const std::int32_t* positions;
    const std::int32_t* slots;
    T* qkv;
    T* cache;
    RopeAngles angles;

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        const std::int64_t half = shape.head_dim / 2;
        const std::int64_t thread = block.x() * kThreadsMax + block.thread();
        const std::int64_t row = thread / half;
        const auto column = static_cast<int>(thread % half);
        if (row >= shape.rows) {
            return;
        }
        float cosine = 1.0f;
        float sine = 0.0f;
        if (turns) {
            const float angle = rope_angle(angles, positions[row], column);
            cosine = cosf(angle);
            sine = sinf(angle);
        }
        const std::int64_t turned = turns ? shape.heads + shape.kv_heads : 0;
        const std::int64_t all = shape.heads + 2 * shape.kv_heads;
        const std::int64_t first = block.y() * kHeads;
        const std::int64_t last = first + kHeads < all ? first + kHeads : all;
        const std::int64_t slot = slots[row];
        for (std::int64_t head = first; head < last; ++head) {
            T* at = qkv + (row * all + head) * shape.head_dim + column;
            T pair[2] = {at[0], at[half]};
            if (head < turned) {
                const float left = widen(pair[0]);
                const float right = widen(pair[1]);
                narrow(left * cosine - right * sine, pair[0]);
                narrow(right * cosine + left * sine, pair[1]);
                at[0] = pair[0];
                at[half] = pair[1];
            }
            if (head >= shape.heads && slot >= 0) {
                T* to = cache + slot * shape.cache_width() + (head - shape.heads) * shape.head_dim +
                        column;
                to[0] = pair[0];
                to[half] = pair[1];
            }
        }
    }
};

// Keys of one partition that a row sees.
struct PartitionKeys {
    std::int64_t begin = 0;
    std::int64_t end = 0;
};
ORRERY_HOST_DEVICE PartitionKeys partition_keys(std::int64_t context,
                                                std::int64_t window,
                                                std::int64_t partition) {
    const std::int64_t seen = window > 0 && window < context ? context - window : 0;
    const std::int64_t from = partition * kPartitionKeys;
    const std::int64_t to = from + kPartitionKeys;
    return {seen > from ? seen : from, context < to ? context : to};
}

// kLanes of a team: kPagedColumns neighbouring columns a lane where they are the whole head
// (kLanes < kWarp, or heads of 256), else the columns lane, lane + kWarp ....
template <class T, int kLanes, int kHeads, bool kNeighbours>
struct PagedAttentionKernel {
    static constexpr int kThreadsMax = kPagedThreads;
    static constexpr int kTeams = kPagedThreads / kLanes;
    PagedShape shape;
    float scale;  // of scores, in powers of two
    std::int64_t partitions;
    const T* qkv;
    const T* cache;
    const std::int32_t* contexts;
    const std::int32_t* tables;
    T* output;
    float* parts;  // [rows, heads, partitions, head_dim + 2]; null for one partition

    using Part = float[kPagedColumns];
    struct HeadSums {
        Part query;
        Part values = {};
        float maximum = -kInfinity;
        float sum = 0.0f;
    };

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        const std::int64_t row = block.x() / partitions;
        const std::int64_t partition = block.x() % partitions;
        const std::int64_t group = shape.heads / shape.kv_heads;
        const std::int64_t kv_head = block.y() / (group / kHeads);
        const std::int64_t head = kv_head * group + block.y() % (group / kHeads) * kHeads;
        const PartitionKeys keys = partition_keys(contexts[row], shape.window, partition);
        if (keys.begin >= keys.end) {
            if (parts == nullptr) {
                write_zeros(block, row, head);
            }
            return;
        }
        HeadSums sums[kHeads];
        ORRERY_UNROLL
        for (int h = 0; h < kHeads; ++h) {
            read(block,
                 qkv + row * shape.packed_width() + (head + h) * shape.head_dim,
                 sums[h].query);
        }
        const int team = block.thread() / kLanes;
        for (std::int64_t first = keys.begin; first < keys.end; first += kTeams) {
            const bool live = first + team < keys.end;
            const T* key = place(row, live ? first + team : first) + kv_head * shape.head_dim;
            Part columns;
            read(block, key, columns);
            float scores[kHeads];
            ORRERY_UNROLL
            for (int h = 0; h < kHeads; ++h) {
                scores[h] = product(block, sums[h].query, columns);
            }
            read(block, key + shape.kv_heads * shape.head_dim, columns);
            ORRERY_UNROLL
            for (int h = 0; h < kHeads; ++h) {
                add(block, live ? scores[h] * scale : -kInfinity, columns, sums[h]);
            }
        }
        join_teams(block, row, head, partition, sums);
    }

    // The keys of a token of the row's sequence.
    ORRERY_DEVICE const T* place(std::int64_t row, std::int64_t token) const {
        const std::int64_t block = tables[row * shape.table_width + token / shape.block_size];
        return cache + (block * shape.block_size + token % shape.block_size) * shape.cache_width();
    }

    ORRERY_DEVICE int column(int lane, int i) const {
        return kNeighbours ? lane * kPagedColumns + i : lane + kWarp * i;
    }

    template <class Block>
    ORRERY_DEVICE void read(Block& block, const T* from, Part& to) const {
        const int lane = block.thread() % kLanes;
        if constexpr (kNeighbours) {
            load(from + lane * kPagedColumns, to);
        } else {
            ORRERY_UNROLL
            for (int i = 0; i < kPagedColumns; ++i) {
                const int at = column(lane, i);
                to[i] = at < shape.head_dim ? widen(from[at]) : 0.0f;
            }
        }
    }

    template <class Block>
    ORRERY_DEVICE float product(Block& block, const Part& a, const Part& b) const {
        float sum = 0.0f;
        ORRERY_UNROLL
        for (int i = 0; i < kPagedColumns; ++i) {
            sum = fused(a[i], b[i], sum);
        }
        ORRERY_UNROLL
        for (int mask = kLanes / 2; mask > 0; mask /= 2) {
            sum += block.shuffle_xor(sum, mask);
        }
        return sum;
    }

    template <class Block>
    ORRERY_DEVICE void add(Block& block, float score, const Part& value, HeadSums& sums) const {
        const float maximum = fmaxf(sums.maximum, score);
        const float base = maximum == -kInfinity ? 0.0f : maximum;
        const float correction = block.exp2_approx(sums.maximum - base);
        const float weight = block.exp2_approx(score - base);
        sums.maximum = maximum;
        sums.sum = fused(sums.sum, correction, weight);
        ORRERY_UNROLL
        for (int i = 0; i < kPagedColumns; ++i) {
            sums.values[i] = fused(sums.values[i], correction, weight * value[i]);
        }
    }

    // Shared memory: [teams, heads, head_dim + 2], sums of values, then maximum and sum.
    template <class Block>
    ORRERY_DEVICE void join_teams(Block& block,
                                  std::int64_t row,
                                  std::int64_t head,
                                  std::int64_t partition,
                                  const HeadSums (&sums)[kHeads]) const {
        auto* shared = reinterpret_cast<float*>(block.shared());
        const auto dim = static_cast<int>(shape.head_dim);
        const int pitch = dim + 2;
        const int lane = block.thread() % kLanes;
        ORRERY_UNROLL
        for (int h = 0; h < kHeads; ++h) {
            float* to = shared + (block.thread() / kLanes * kHeads + h) * pitch;
            ORRERY_UNROLL
            for (int i = 0; i < kPagedColumns; ++i) {
                if (const int at = column(lane, i); at < dim) {
                    to[at] = sums[h].values[i];
                }
            }
            if (lane == 0) {
                to[dim] = sums[h].maximum;
                to[dim + 1] = sums[h].sum;
            }
        }
        block.sync();
        for (int i = block.thread(); i < kHeads * dim; i += kPagedThreads) {
            const int h = i / dim;
            const int at = i % dim;
            float maximum = -kInfinity;
            for (int team = 0; team < kTeams; ++team) {
                maximum = fmaxf(maximum, shared[(team * kHeads + h) * pitch + dim]);
            }
            float value = 0.0f;
            float sum = 0.0f;
            for (int team = 0; team < kTeams; ++team) {
                const float* from = shared + (team * kHeads + h) * pitch;
                const float factor = block.exp2_approx(from[dim] - maximum);
                value = fused(from[at], factor, value);
                sum = fused(from[dim + 1], factor, sum);
            }
            if (parts == nullptr) {
                narrow(value / sum, output[(row * shape.heads + head + h) * shape.head_dim + at]);
                continue;
            }
            float* to = parts + ((row * shape.heads + head + h) * partitions + partition) * pitch;
            to[at] = value;
            if (at == 0) {
                to[dim] = maximum;
                to[dim + 1] = sum;
            }
        }
    }

    template <class Block>
    ORRERY_DEVICE void write_zeros(Block& block, std::int64_t row, std::int64_t head) const {
        T* to = output + (row * shape.heads + head) * shape.head_dim;
        for (std::int64_t i = block.thread(); i < kHeads * shape.head_dim; i += kPagedThreads) {
            narrow(0.0f, to[i]);
        }
    }

    Geometry geometry() const {
        return {.blocks_x = shape.rows * partitions,
                .blocks_y = shape.heads / kHeads,
                .threads = kPagedThreads,
                .shared_bytes = static_cast<int>(kTeams * kHeads * (shape.head_dim + 2)) * 4};
    }
};

// A warp joins the partitions of a head of a row.
template <class T>
struct JoinPartitionsKernel {
    static constexpr int kThreadsMax = kPagedThreads;
    PagedShape shape;
    std::int64_t partitions;
    const std::int32_t* contexts;
    const float* parts;
    T* output;

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        const std::int64_t number =
            block.x() * (kPagedThreads / kWarp) + block.warp();  // of row and head
        if (number >= shape.rows * shape.heads) {
            return;
        }
        const std::int64_t dim = shape.head_dim;
        const std::int64_t context = contexts[number / shape.heads];
        const float* from = parts + number * partitions * (dim + 2);
        float maximum = -kInfinity;
        for (std::int64_t p = 0; p < partitions; ++p) {
            if (holds_keys(context, p)) {
                maximum = fmaxf(maximum, from[p * (dim + 2) + dim]);
            }
        }
        for (std::int64_t at = block.lane(); at < dim; at += kWarp) {
            float value = 0.0f;
            float sum = 0.0f;
            for (std::int64_t p = 0; p < partitions; ++p) {
                if (!holds_keys(context, p)) {
                    continue;
                }
                const float* part = from + p * (dim + 2);
                const float factor = block.exp2_approx(part[dim] - maximum);
                value = fused(part[at], factor, value);
                sum = fused(part[dim + 1], factor, sum);
            }
            narrow(sum > 0.0f ? value / sum : 0.0f, output[number * dim + at]);
        }
    }

    ORRERY_DEVICE bool holds_keys(std::int64_t context, std::int64_t partition) const {
        const PartitionKeys keys = partition_keys(context, shape.window, partition);
        return keys.begin < keys.end;
    }
};

template <class T>
struct GatherContextKernel {
    static constexpr int kThreadsMax = kPassThreads;
    std::int64_t tokens;
    std::int64_t width;
    std::int64_t block_size;
    bool vector;
    const std::int32_t* table;
    const T* cache;
    T* rows;

    template <class Block>
    ORRERY_DEVICE void operator()(Block& own) const {
        for_own_columns(own, width, vector, [&]<int kWidth>(std::int64_t column) {
            for (std::int64_t token = own.y(); token < tokens; token += own.blocks_y()) {
                const std::int64_t slot =
                    table[token / block_size] * block_size + token % block_size;
                float values[kWidth];
                load(cache + slot * width + column, values);
                store(rows + token * width + column, values);
            }
        });
    }
};

inline const std::int32_t* numbers(ConstTensorView view, std::int64_t size) {
    ORRERY_CHECK(view.dtype == Dtype::int32 && view.size == size);
    return elements<std::int32_t>(view);
}

template <class Queue>
void rotate_and_store(Queue& queue, const PagedShape& shape, const PagedStore& x) {
    ORRERY_CHECK(why_not_paged(shape).empty() && x.qkv.dtype == x.cache.dtype);
    ORRERY_CHECK(x.qkv.size == shape.rows * shape.packed_width());
    for_dtype(x.qkv.dtype, [&]<class T>(T*) {
        const RotateAndStoreKernel<T> kernel{
            .shape = shape,
            .turns = x.rope_base.has_value(),
            .positions = numbers(x.positions, shape.rows),
            .slots = numbers(x.slots, shape.rows),
            .qkv = elements<T>(x.qkv),
            .cache = elements<T>(x.cache),
            .angles = x.rope_base ? rope_angles(shape.head_dim, *x.rope_base) : RopeAngles{}};
        const std::int64_t threads = shape.rows * (shape.head_dim / 2);
        const std::int64_t heads = shape.heads + 2 * shape.kv_heads;
        queue.launch(kernel,
                     {.blocks_x = (threads + kernel.kThreadsMax - 1) / kernel.kThreadsMax,
                      .blocks_y = (heads + kernel.kHeads - 1) / kernel.kHeads,
                      .threads = kernel.kThreadsMax});
    });
}

// Calls with_team<kLanes, kNeighbours>() for the head size. Sixteen bytes at a time need aligned
// rows.
template <class WithTeam>
void for_team(std::int64_t head_dim, bool is_aligned, const WithTeam& with_team) {
    if (is_aligned && head_dim == 64) {
        with_team.template operator()<8, true>();
    } else if (is_aligned && head_dim == 128) {
        with_team.template operator()<16, true>();
    } else if (is_aligned && head_dim == 256) {
        with_team.template operator()<32, true>();
    } else {
        with_team.template operator()<32, false>();
    }
}

template <class Queue>
void paged_attention(Queue& queue, const PagedShape& shape, const PagedAttention& x) {
    ORRERY_CHECK(why_not_paged(shape).empty() && shape.heads % shape.kv_heads == 0);
    ORRERY_CHECK(x.qkv.dtype == x.cache.dtype && x.output.dtype == x.cache.dtype);
    const std::int64_t partitions = paged_partitions(shape);
    const auto* contexts = numbers(x.contexts, shape.rows);
    const auto* tables = numbers(x.tables, shape.rows * shape.table_width);
    float* parts = nullptr;
    if (partitions > 1) {
        parts = reinterpret_cast<float*>(queue.scratch(paged_scratch_bytes(shape)));
    }
    const std::int64_t group = shape.heads / shape.kv_heads;
    const float scale = kLog2e / std::sqrt(static_cast<float>(shape.head_dim));
    const auto launch = [&]<class T, int kLanes, bool kNeighbours, int kHeads>() {
        const PagedAttentionKernel<T, kLanes, kHeads, kNeighbours> kernel{
            .shape = shape,
            .scale = scale,
            .partitions = partitions,
            .qkv = elements<T>(x.qkv),
            .cache = elements<T>(x.cache),
            .contexts = contexts,
            .tables = tables,
            .output = elements<T>(x.output),
            .parts = parts};
        queue.launch(kernel, kernel.geometry());
    };
    for_dtype(x.qkv.dtype, [&]<class T>(T*) {
        const bool whole = aligned(x.qkv) && aligned(x.cache);
        for_team(shape.head_dim, whole, [&]<int kLanes, bool kNeighbours>() {
            if (group % 8 == 0) {
                launch.template operator()<T, kLanes, kNeighbours, 8>();
            } else if (group % 4 == 0) {
                launch.template operator()<T, kLanes, kNeighbours, 4>();
            } else {
                launch.template operator()<T, kLanes, kNeighbours, 1>();
            }
        });
        if (partitions > 1) {
            constexpr std::int64_t kWarps = kPagedThreads / kWarp;
            queue.launch(JoinPartitionsKernel<T>{.shape = shape,
                                                 .partitions = partitions,
                                                 .contexts = contexts,
                                                 .parts = parts,
                                                 .output = elements<T>(x.output)},
                         {.blocks_x = (shape.rows * shape.heads + kWarps - 1) / kWarps,
                          .threads = kPagedThreads});
        }
    });
}

template <class Queue>
void gather_context(Queue& queue, const PagedShape& shape, const ContextGather& x) {
    const std::int64_t width = shape.cache_width();
    const std::int64_t tokens = x.rows.size / width;
    ORRERY_CHECK(x.rows.size == tokens * width && x.rows.dtype == x.cache.dtype);
    ORRERY_CHECK(tokens <= shape.table_width * shape.block_size);
    const bool vector = vector_rows(width, {x.cache, x.rows});
    for_dtype(x.cache.dtype, [&]<class T>(T*) {
        queue.launch(GatherContextKernel<T>{.tokens = tokens,
                                            .width = width,
                                            .block_size = shape.block_size,
                                            .vector = vector,
                                            .table = numbers(x.table, shape.table_width),
                                            .cache = elements<T>(x.cache),
                                            .rows = elements<T>(x.rows)},
                     row_pass_geometry(tokens, width, vector));
    });
}

}  // namespace orrery::device
