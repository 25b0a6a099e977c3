// SPDX-License-Identifier: Apache-2.0
// The kernels of a served step on the simulated device: their own device code, on the emulation of
// blocks and warps. (What trains runs the CPU's kernels there, by simulated_libraries.cpp: the
// executor is tested with them, and the device code apart.)
#include "runtime/cuda/kernel_definitions.h"
#include "tests/kernels/emulation/emulated_block.h"
#include "tests/runtime/cuda/simulated_device.h"

namespace orrery::device {

template <class Kernel>
void CudaQueue::launch(const Kernel& kernel, const Geometry& geometry) {
    simulated::enqueue(stream_, [kernel, geometry] {
        emulation::EmulatedQueue queue;
        queue.launch(kernel, geometry);
        return true;
    });
}

template void embedding_forward(
    CudaQueue&, const cpu::EmbeddingShape&, ConstTensorView, ConstTensorView, TensorView);
template void residual_add(CudaQueue&, ConstTensorView, ConstTensorView, TensorView);
template void residual_add_biases(CudaQueue&,
                                  std::int64_t,
                                  ConstTensorView,
                                  ConstTensorView,
                                  std::span<const ConstTensorView>,
                                  TensorView);
template void layernorm_forward(CudaQueue&,
                                const cpu::NormShape&,
                                const cpu::NormForward&,
                                const NormBiases&);
template void rmsnorm_forward(CudaQueue&,
                              const cpu::NormShape&,
                              const cpu::NormForward&,
                              const NormBiases&);
template void gelu_forward(CudaQueue&,
                           const cpu::ActivationShape&,
                           cpu::Ungated,
                           ConstTensorView,
                           ConstTensorView,
                           TensorView);
template void swiglu_forward(CudaQueue&,
                             const cpu::ActivationShape&,
                             cpu::Gated,
                             ConstTensorView,
                             ConstTensorView,
                             TensorView,
                             bool);
template void attention_forward(CudaQueue&,
                                const AttentionShape&,
                                const cpu::AttentionPositions&,
                                const cpu::AttentionForward&,
                                const float*);
template void add_adapters(CudaQueue&, const cpu::AdapterShape&, const cpu::AdapterOperands&);
template void rotate_and_store(CudaQueue&, const PagedShape&, const PagedStore&);
template void paged_attention(CudaQueue&, const PagedShape&, const PagedAttention&);
template void gather_context(CudaQueue&, const PagedShape&, const ContextGather&);

}  // namespace orrery::device
