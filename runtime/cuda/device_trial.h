// SPDX-License-Identifier: Apache-2.0
// Tests on a device whether one of two ways to do the same work is right and faster. Both run on
// the same random numbers, in the Program's own tensors, before these have contents.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "kernels/tensor_view.h"

namespace orrery {

// The tensors that both ways read, write and accumulate into.
struct TriedTensors {
    std::vector<TensorView> read;
    std::vector<TensorView> written;
    std::vector<TensorView> added;
};

// Samples from the begin and the end of every result, by tensor.
using Samples = std::vector<std::vector<float>>;

// |actual - expected|| / ||expected||, maximum over the tensors. Infinite for NaNs, and for
// expected values of zero, which prove nothing.
double relative_difference(const Samples& actual, const Samples& expected);
// Whether the difference is small for results that are rounded to `dtype` in between.
bool alike(const Samples& actual, const Samples& expected, Dtype dtype);

// The result of testing a way against the one that is known to be right.
struct TriedWay {
    std::string work;  // "attention_forward bf16, 1024 x 1024 ..."
    std::string way;   // "mma.sync"
    double difference = 0;
    bool alike = false;    // the difference is small
    bool repeats = false;  // two runs give the same bits
    double seconds = 0;    // 0: not timed
    double best_s = 0;     // of the other right ways; 0: there are none

    bool right() const { return alike && repeats; }
    bool taken() const { return right() && (best_s == 0 || seconds < best_s); }
};
// "tried attention_forward ..., mma.sync: off by 1.2e-03, 123.4 us: taken". The verdict is "taken",
// "slower than ...", "WRONG" or "WRONG: other bits the second time".
std::string trial_line(const TriedWay& tried);

class DeviceTrial {
public:
    using Work = std::function<Result<void>()>;

    // The trial uses the events during its lifetime.
    DeviceTrial(TriedTensors tensors, cudaStream_t stream, cudaEvent_t begin, cudaEvent_t end)
        : tensors_(std::move(tensors)), stream_(stream), begin_(begin), end_(end) {}

    // Fills the read tensors with random numbers.
    Result<void> draw() const;
    // The results of `work`. Written tensors start as NaNs, accumulated ones with equal contents
    // each time.
    Result<Samples> results_of(const Work& work) const;
    // Median of a few runs in seconds, after a warm-up run.
    Result<double> time_of(const Work& work) const;

private:
    TriedTensors tensors_;
    cudaStream_t stream_;
    cudaEvent_t begin_;
    cudaEvent_t end_;
};

}  // namespace orrery
