// SPDX-License-Identifier: Apache-2.0
// The source of a kernel's dropout key and rate: given by the host, or, for a graph that is
// replayed every step, read from the device scalars when the kernel runs.
#pragma once

#include "engine/program/device_scalars.h"
#include "kernels/cuda/elements.h"
#include "kernels/residual/residual_cpu.h"

namespace orrery::device {

struct DropoutSource {
    RandomKey key;  // with scalars: without seed, and with a round relative to theirs
    float rate = 0.0f;
    const float* scalars = nullptr;  // engine/program/device_scalars.h, in the device's memory

    DropoutSource() = default;
    DropoutSource(const cpu::DropoutArguments& given)  // NOLINT: the same, known on the host
        : key(given.key), rate(given.rate) {}
    DropoutSource(const RandomKey& place, const float* read_from)
        : key(place), scalars(read_from) {}

    ORRERY_HOST_DEVICE DropoutSource resolved() const {
        DropoutSource own = *this;
        if (scalars != nullptr) {
            own.key.seed = static_cast<std::uint64_t>(bits(DeviceScalar::seed_high)) << 32 |
                           bits(DeviceScalar::seed_low);
            own.key.round += bits(DeviceScalar::first_round);
            own.rate = scalars[static_cast<int>(DeviceScalar::dropout)];
        }
        return own;
    }

private:
    ORRERY_HOST_DEVICE std::uint32_t bits(DeviceScalar scalar) const {
        return bits_of(scalars[static_cast<int>(scalar)]);
    }
};

}  // namespace orrery::device
