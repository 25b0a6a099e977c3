// SPDX-License-Identifier: Apache-2.0
// Trying on a device which of two ways to do the same work is right and faster: both on the same
// drawn numbers, in the tensors of the Program themselves, before there is anything in them.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <string>
#include <vector>

#include "engine/base/result.h"
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

// ||actual - expected|| / ||expected||, the largest of all tensors; infinite for NaNs, and where
// zeros were expected, which show nothing.
double relative_difference(const Samples& actual, const Samples& expected);
// Whether that is small, for results that are rounded to `dtype` on the way.
bool alike(const Samples& actual, const Samples& expected, Dtype dtype);

// What a way that was tried came to, beside the one that is known to be right.
struct TriedWay {
    std::string work;  // "attention_forward bf16, 1024 x 1024 ..."
    std::string way;   // "mma.sync"
    double difference = 0;
    bool alike = false;    // the difference is small
    bool repeats = false;  // the same bits twice
    double seconds = 0;    // 0: not timed
    double best_s = 0;     // of the other right ways; 0: there is none

    bool right() const { return alike && repeats; }
    bool taken() const { return right() && (best_s == 0 || seconds < best_s); }
};
// "tried attention_forward ..., mma.sync: off by 1.2e-03, 123.4 us: taken", one of "taken",
// "slower than ...", "WRONG" and "WRONG: other bits the second time".
std::string trial_line(const TriedWay& tried);

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
