// SPDX-License-Identifier: Apache-2.0
// Trying on a device which of two ways to do the same work is right and faster: both on the same
// drawn numbers, in the tensors of the Program themselves, before there is anything in them.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <vector>

#include "engine/result.h"
#include "kernels/tensor_view.h"

namespace orrery {

// What both ways read, what they write, and what they add to.
struct TriedTensors {
    std::vector<TensorView> read;
    std::vector<TensorView> written;
    std::vector<TensorView> added;
};

// The begin and the end of every result, by tensor.
using Samples = std::vector<std::vector<float>>;

// Whether ||actual - expected|| is small beside ||expected|| in every tensor, for results that are
// rounded to `dtype` on the way; false for NaNs.
bool alike(const Samples& actual, const Samples& expected, Dtype dtype);

class DeviceTrial {
public:
    using Work = std::function<Result<void>()>;

    // The events are the trial's for as long as it is.
    DeviceTrial(TriedTensors tensors, cudaStream_t stream, cudaEvent_t begin, cudaEvent_t end)
        : tensors_(std::move(tensors)), stream_(stream), begin_(begin), end_(end) {}

    // Numbers for what is read.
    Result<void> draw() const;
    // What `work` leaves where there was nothing, or always the same.
    Result<Samples> results_of(const Work& work) const;
    // The median of a few runs in seconds, the first of which warms up.
    Result<double> time_of(const Work& work) const;

private:
    TriedTensors tensors_;
    cudaStream_t stream_;
    cudaEvent_t begin_;
    cudaEvent_t end_;
};

}  // namespace orrery
