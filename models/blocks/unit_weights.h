// SPDX-License-Identifier: Apache-2.0
// ZeRO 3 and PyTorch's fully_shard: weights persist as shards. Unit by unit, they are gathered
// before each use and freed after it, and gradients are reduced to shards (Zhao et al., PyTorch
// FSDP, VLDB 2023, section 3.3: the next unit is prefetched, at most two live). A unit is the
// embedding, plan.fsdp_unit_layers layers, or the head. Other strategies keep weights whole. With
// them this file has no effect, unless weights or gradients leave the device
// (models/segments/offloaded_state.h).
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "models/segments/block_builder.h"
#include "models/segments/offloaded_state.h"

namespace orrery {

// The parameters of the embedding, of a layer or of the head, which are used at the same time.
using ParameterSet = std::vector<Parameter*>;

// Gathers the weights of one pass over a chunk. `sets` are in the order in which the pass uses
// them.
class UnitWeights {
public:
    enum class For : std::uint8_t { forward, backward };
    // `layers`: whether each set is a layer. Only layers may share a unit with their neighbours.
    UnitWeights(BlockBuilder& b,
                For pass,
                std::vector<ParameterSet> sets,
                std::vector<bool> layers);

    // Calls before and after the ops of the next set. `end` reduces the gradients of its
    // parameters, except the parameters in `without`, which the pass defers.
    void begin();
    void end(const ParameterSet& without = {});
    // Call between the run of a layer for the second time and its backward pass: gathers the
    // weights that are freed in between (models/blocks/released_weights.h).
    void gather_again();

private:
    struct Unit {
        std::size_t first = 0;  // sets
        std::size_t end = 0;
        ParameterSet parameters;
        // Parameters that were gathered in FP8, with the buffer of each gather.
        std::vector<std::pair<ParameterSet, TensorId>> in_fp8;
    };
    const Unit& unit_in_use() const { return units_[unit_]; }
    void add_offloaded();
    void fetch(std::size_t unit);
    void gather(std::size_t unit);
    void gather_set(const ParameterSet& moved, Unit& unit);
    void keep_secondary(const Unit& unit);
    std::size_t units_ahead() const;
    bool prefetches_behind() const;

    BlockBuilder& b_;
    For pass_;
    std::vector<Unit> units_;
    std::size_t set_ = 0;              // in use, or next
    std::size_t unit_ = 0;             // the unit of that set
    std::size_t gathered_ = 0;         // number of units up to now
    ParameterSet later_;               // deferred gradients of the unit in use
    std::vector<std::uint32_t> ends_;  // last op of each unit used so far
    std::unique_ptr<OffloadedWeights> offloaded_weights_;
    std::unique_ptr<OffloadedGradients> offloaded_gradients_;
};

// Reduces these parameters' gradients to the persistent shards, on the device or in the tier of
// `offloaded`.
void reduce_to_shards(BlockBuilder& b,
                      const ParameterSet& parameters,
                      OffloadedGradients* offloaded = nullptr);

}  // namespace orrery
