// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/kernel_case.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace orrery::gpu_check {

std::string cores_of(const KernelCase& c) {
    switch (c.tensor_cores.value_or(device::TensorCores::none)) {
        case device::TensorCores::warps:
            return "warps";
        case device::TensorCores::warpgroups:
            return "warpgroups";
        case device::TensorCores::short_warpgroups:
            return "short_warpgroups";
        case device::TensorCores::none:
            break;
    }
    return "none";
}

std::string family_of(const KernelCase& c) {
    const std::string family =
        c.kernel.substr(0, std::min(c.kernel.find("_forward"), c.kernel.find("_backward")));
    return c.tensor_cores ? family + "/" + cores_of(c) : family;
}

std::string line_of(const KernelCase& c) {
    return family_of(c) + " " + c.kernel + " " + c.shape + " " + std::string{name(c.dtype)};
}

numeric::Tensor repeated(std::int64_t size, Dtype dtype, float scale) {
    constexpr std::int64_t kPeriod = 1 << 16;
    static const numeric::Tensor drawn = numeric::Draw{1}.tensor(kPeriod, Dtype::fp32);
    numeric::Tensor tensor{size, dtype};
    for (std::int64_t i = 0; i < std::min(size, kPeriod); ++i) {
        store(tensor.view(), i, scale * std::abs(load(drawn.view(), i)));
    }
    const std::int64_t element = size_bytes(dtype);
    for (std::int64_t i = kPeriod; i < size; i += kPeriod) {
        const std::int64_t count = std::min(kPeriod, size - i);
        std::memcpy(tensor.view().data + i * element,
                    tensor.view().data,
                    static_cast<std::size_t>(count * element));
    }
    return tensor;
}

}  // namespace orrery::gpu_check
