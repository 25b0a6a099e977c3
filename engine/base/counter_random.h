// SPDX-License-Identifier: Apache-2.0
// Random numbers by counter for simulated faults: Philox4x32-10 (Salmon et al., SC 2011). A stream
// is named by (seed, entity, purpose), so a new node, link or fault class draws from streams of its
// own and changes no other's. (kernels/random.h keys the numbers of a training run.)
#pragma once

#include <cstdint>

namespace orrery {

class CounterRandom {
public:
    CounterRandom(std::uint64_t seed, std::uint64_t entity, std::uint32_t purpose)
        : seed_(seed), entity_(entity), purpose_(purpose) {}

    std::uint64_t next();
    double uniform();      // in (0, 1), never an end
    double exponential();  // of mean 1
    double normal();       // Box-Muller; two words of the stream each
    // A number of mean 1 and variance 1/shape: Marsaglia and Tsang (2000), raised for shapes below
    // 1.
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
