// SPDX-License-Identifier: Apache-2.0
// Makes a CUDA graph of the work on a stream.
#pragma once

#include <cuda_runtime_api.h>

#include "runtime/cuda/cuda_result.h"

namespace orrery {

// `graph` gets the work that `launch`, a function without arguments that returns a Result<void>,
// puts on `stream`. The caller destroys the graph. An error of `launch` is returned.
template <class Launch>
Result<void> capture_graph(cudaStream_t stream, cudaGraphExec_t& graph, const Launch& launch) {
    constexpr const char* kCapturing = "capturing a graph";
    Result<void> done =
        cuda_result(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), kCapturing);
    if (!done) {
        return done;
    }
    done = launch();
    // End the capture in any case, because the stream is unusable before.
    cudaGraph_t captured = nullptr;
    const Result<void> ended = cuda_result(cudaStreamEndCapture(stream, &captured), kCapturing);
    done = done ? ended : done;
    done = done ? cuda_result(cudaGraphInstantiate(&graph, captured, 0), "making a graph") : done;
    if (captured != nullptr) {
        cudaGraphDestroy(captured);
    }
    return done;
}

}  // namespace orrery
