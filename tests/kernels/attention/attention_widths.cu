// SPDX-License-Identifier: Apache-2.0
// One instance each of the attention kernels that move rows without asynchronous copies, for
// tests/kernels/cuda/access_widths_test.cpp: all instances together take nvcc much longer.
#include "kernels/attention/attention_device.h"
#include "kernels/attention/key_value_device.h"
#include "kernels/cuda/launch.cuh"

namespace orrery::device {

template __global__ void run(const __grid_constant__ AttentionStatisticsKernel<64>);
template __global__ void run(const __grid_constant__ AttentionForwardKernel<64, false, WarpCores>);
template __global__ void run(
    const __grid_constant__ AttentionKeyGradientKernel<64, false, WarpCores>);
template __global__ void run(
    const __grid_constant__ AttentionQueryGradientKernel<64, false, WarpCores>);
template void copy_key_value(CudaQueue&, std::int64_t, ConstTensorView, TensorView);
template void add_key_value(CudaQueue&, std::int64_t, ConstTensorView, TensorView);

}  // namespace orrery::device
