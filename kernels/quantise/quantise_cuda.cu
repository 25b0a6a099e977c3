// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/launch.cuh"
#include "kernels/quantise/quantise_device.h"

namespace orrery::device {

template void quantise(
    CudaQueue&, const QuantisedVector&, PartOrder, std::span<const ConstTensorView>, TensorView);
template void requantise(
    CudaQueue&, const QuantisedVector&, std::int64_t, ConstTensorView, TensorView);
template void dequantise(CudaQueue&,
                         const QuantisedVector&,
                         std::int64_t,
                         ConstTensorView,
                         std::span<const TensorView>,
                         bool);

}  // namespace orrery::device
