// SPDX-License-Identifier: Apache-2.0
// Random numbers by counter for simulated faults: Philox4x32-10 (Salmon et al., SC 2011). The key
// of a stream is (seed, entity, purpose). A new node, link or fault class therefore has streams of
// its own and changes no other stream. (kernels/random.h keys the numbers of a training run.)
#pragma once

#include <cstdint>

namespace orrery {

class CounterRandom {
public:
    CounterRandom(std::uint64_t seed, std::uint64_t entity, std::uint32_t purpose)
        : seed_(seed), entity_(entity), purpose_(purpose) {}

    std::uint64_t next();
    double uniform();      // in (0, 1), both ends excluded
    double exponential();  // of mean 1
    double normal();       // mean 0, variance 1, by Box-Muller; consumes two 64-bit words
    // Mean 1, variance 1/shape: Marsaglia and Tsang (2000), with their boost for shapes below 1.
    double gamma(double shape);

private:
    std::uint64_t seed_;
    std::uint64_t entity_;
    std::uint32_t purpose_;
    std::uint32_t block_ = 0;
    std::uint64_t spare_ = 0;
    bool has_spare_ = false;
};

}  // namespace orrery
