// SPDX-License-Identifier: Apache-2.0
// Parameters of made-up ranks: a few matrices cut over tensor-parallel ranks by columns, whose
// optimizer state data-parallel ranks share, with values that tell which element of the whole they
// are.
#pragma once

#include <deque>
#include <vector>

#include "runtime/checkpoint.h"
#include "runtime/state/checkpoint_files.h"
#include "tests/runtime/tiny_model.h"

namespace orrery {

struct RankLayout {
    std::int64_t tensor_parallel = 1;
    std::int64_t sharers = 1;     // of the optimizer's state
    bool shares_weights = false;  // and of the weights
    std::int64_t num_ranks() const { return tensor_parallel * sharers; }
};

class HeldRank {
public:
    // Two products of 6 and 12 columns side by side, and a vector that every rank has.
    HeldRank(RankLayout layout, std::int64_t rank, bool master) {
        const std::int64_t t = layout.tensor_parallel;
        const std::int64_t i = rank % t;
        const std::int64_t position = rank / t;
        const ParameterBlock cut{
            5, 18, {{0, 5}}, {{i * (6 / t), 6 / t}, {6 + i * (12 / t), 12 / t}}};
        add("matrix", t == 1 ? ParameterBlock::whole(5, 18) : cut, layout, position, master);
        add("vector", ParameterBlock::whole(1, 7), layout, position, master);
    }
    const std::vector<HeldParameter>& parameters() const { return parameters_; }

    // Every element gets the value of its place in the whole.
    void fill(float first) {
        for (const HeldParameter& p : parameters_) {
            fill(p.weight, p, p.held, first);
            fill(p.first_moment, p, p.own, first + 0.25f);
            fill(p.second_moment, p, p.own, first + 0.5f);
            fill(p.master, p, p.own, first + 0.75f);
        }
    }
    // All bits of all tensors.
    std::vector<float> values() const {
        std::vector<float> all;
        for (const HeldParameter& p : parameters_) {
            for (const TensorView& view : {p.weight, p.first_moment, p.second_moment, p.master}) {
                for (std::int64_t i = 0; i < view.size; ++i) {
                    all.push_back(load(view, i));
                }
            }
        }
        return all;
    }

private:
    void add(std::string name,
             const ParameterBlock& block,
             RankLayout layout,
             std::int64_t position,
             bool master) {
        const std::int64_t size = block.local_elements();
        const ElementRange own = shard_range(size, layout.sharers, position);
        const ElementRange held = layout.shares_weights ? own : ElementRange{0, size};
        parameters_.push_back({.name = std::move(name),
                               .block = block,
                               .held = held,
                               .weight = tensor(held.count),
                               .own = own,
                               .first_moment = tensor(own.count),
                               .second_moment = tensor(own.count),
                               .master = tensor(master ? own.count : 0)});
    }
    TensorView tensor(std::int64_t size) {
        return view_of(std::span{storage_.emplace_back(static_cast<std::size_t>(size))});
    }
    static void fill(TensorView view, const HeldParameter& p, ElementRange range, float first) {
        if (view.empty()) {
            return;
        }
        p.block.for_each_run(
            range, [&](std::int64_t local, std::int64_t global, std::int64_t count) {
                for (std::int64_t i = 0; i < count; ++i) {
                    store(view, local + i - range.first, first + static_cast<float>(global + i));
                }
            });
    }

    std::deque<std::vector<float>> storage_;
    std::vector<HeldParameter> parameters_;
};

inline RunState tiny_run_state(std::int64_t step) {
    return {.model = tiny_gpt(),
            .precision = "fp32",
            .seed = 7,
            .global_batch_size = 4,
            .step = step,
            .consumed_samples = 4 * step};
}

}  // namespace orrery
