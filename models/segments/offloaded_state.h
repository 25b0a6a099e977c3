// SPDX-License-Identifier: Apache-2.0
// Weights and gradients that lie in the host's memory or on its drives while no pass works with
// them (Rajbhandari et al., ZeRO-Infinity, SC 2021, section 5.1.2 and 6.2):
//
//   weights    from the drives to buffers in the host's memory, from there each rank's part to its
//              device, and only then from rank to rank
//   gradients  from each unit of a backward pass to the host; with several micro-batches the sum so
//              far comes first
//
// Copies have streams of their own, so that drives, PCIe, network and products work side by side.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "models/segments/block_builder.h"

namespace orrery {

// The weights of one pass, whose units are in the order in which it uses them.
class OffloadedWeights {
public:
    OffloadedWeights(BlockBuilder& b,
                     std::vector<std::vector<Parameter*>> units,
                     std::size_t ahead);

    // Copies of the units before `end` that have not been started. `after`: an op whose end says
    // that their place on the device is free, or kNone.
    static constexpr std::uint32_t kNone = UINT32_MAX;
    void read(std::size_t end);
    void fetch(std::size_t end, std::uint32_t after);
    // What a rank has of the weights on its device: what persists there, or what was fetched.
    TensorId part(const Parameter& p) const;

private:
    std::int64_t bytes_of(std::size_t unit) const;

    BlockBuilder& b_;
    std::vector<std::vector<Parameter*>> units_;  // what lies in another tier
    std::vector<TensorId> buffers_;               // in the host's memory, used in turn
    std::size_t read_ = 0;                        // units so far
    std::size_t fetched_ = 0;
    std::map<const Parameter*, TensorId> parts_;
};

// Gradients of one pass.
class OffloadedGradients {
public:
    OffloadedGradients(BlockBuilder& b, std::int64_t most_elements);

    // The sum on the device that these gradients are added to: what the host has so far, if this is
    // not the only micro-batch.
    TensorId sum(const std::vector<Parameter*>& parameters, std::int64_t elements);
    // Takes it to where it lies, with its norm made on the device.
    void store(const std::vector<Parameter*>& parameters, TensorId sum, std::int64_t elements);

private:
    BlockBuilder& b_;
    std::array<TensorId, 2> buffers_{};  // in the host's memory, for gradients on drives, in turn
    std::size_t turn_ = 0;
};

}  // namespace orrery
