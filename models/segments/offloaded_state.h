// SPDX-License-Identifier: Apache-2.0
// Weights and gradients that lie in the host's memory or on its drives while no pass uses them
// (Rajbhandari et al., ZeRO-Infinity, SC 2021, section 5.1.2 and 6.2):
//
//   weights    from the drives to buffers in the host's memory, then each rank's part to its
//              device, and last from rank to rank
//   gradients  from each unit of a backward pass to the host; with several micro-batches the sum
//              of the earlier ones first comes back
//
// Copies have streams of their own. Drives, PCIe, network and products therefore overlap.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "models/segments/block_builder.h"

namespace orrery {

// The weights of one pass. The units are in the order in which the pass uses them.
class OffloadedWeights {
public:
    OffloadedWeights(BlockBuilder& b,
                     std::vector<std::vector<Parameter*>> units,
                     std::size_t ahead);

    // Start the copies of the units before `end` that have not been started: read() from drives,
    // fetch() to the device. `after` is an op whose end frees their place on the device, or kNone.
    static constexpr std::uint32_t kNone = UINT32_MAX;
    void read(std::size_t end);
    void fetch(std::size_t end, std::uint32_t after);
    // The rank's part of a weight on its device: the persistent tensor, or the fetched one.
    TensorId part(const Parameter& p) const;

private:
    std::int64_t bytes_of(std::size_t unit) const;

    BlockBuilder& b_;
    std::vector<std::vector<Parameter*>> units_;  // the parameters that lie in another tier
    std::vector<TensorId> buffers_;               // in the host's memory, used alternately
    std::size_t read_ = 0;                        // the number of units up to now
    std::size_t fetched_ = 0;
    std::map<const Parameter*, TensorId> parts_;
};

// Gradients of one pass.
class OffloadedGradients {
public:
    OffloadedGradients(BlockBuilder& b, std::int64_t most_elements);

    // The sum on the device that these gradients are added to. If there are several micro-batches,
    // it begins with the host's sum.
    TensorId sum(const std::vector<Parameter*>& parameters, std::int64_t elements);
    // Copies the sum to its tier. The norm is computed on the device.
    void store(const std::vector<Parameter*>& parameters, TensorId sum, std::int64_t elements);

private:
    BlockBuilder& b_;
    // in the host's memory, used alternately for gradients on drives
    std::array<TensorId, 2> buffers_{};
    std::size_t turn_ = 0;
};

}  // namespace orrery
