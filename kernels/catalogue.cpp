// SPDX-License-Identifier: Apache-2.0
#include "kernels/catalogue.h"

#include <algorithm>

#include "kernels/kernel_list.h"

namespace orrery {

const KernelDescriptor& descriptor_of(KernelKind kind) {
    static constexpr auto kDescriptors = kernel::table_of<KernelDescriptor>(
        kernel::All{}, []<class K>() { return K::kDescriptor; });
    return kDescriptors[static_cast<std::size_t>(kind)];
}

std::optional<KernelCall> call_from_key(KernelKind kind,
                                        Dtype dtype,
                                        std::uint8_t variant,
                                        const std::array<std::int64_t, 6>& dims) {
    constexpr std::int64_t kMaxDimension = std::int64_t{1} << 40;
    const KernelDescriptor& of = descriptor_of(kind);
    for (std::size_t i = 0; i < dims.size(); ++i) {
        const std::int64_t least = i < of.num_dims ? 1 : 0;
        const std::int64_t most = i < of.num_dims + of.num_optional_dims ? kMaxDimension : 0;
        if (dims[i] < least || dims[i] > most) {
            return std::nullopt;
        }
    }
    const KernelCall key{.kind = kind, .dtype = dtype, .variant = variant, .dims = dims};
    if (of.takes != nullptr && !of.takes(key)) {
        return std::nullopt;
    }
    // The descriptor replaces an unknown variant by another one.
    const KernelCall call = of.call(key);
    if (call.kind != kind || call.variant != variant || call.dims != dims) {
        return std::nullopt;
    }
    return call;
}

std::optional<KernelKind> kernel_kind(std::string_view text) {
    for (std::size_t i = 0; i < kNumKernelKinds; ++i) {
        if (name(static_cast<KernelKind>(i)) == text) {
            return static_cast<KernelKind>(i);
        }
    }
    return std::nullopt;
}

std::optional<Dtype> dtype_named(std::string_view text) {
    for (int i = 0; i < kNumDtypes; ++i) {
        if (name(static_cast<Dtype>(i)) == text) {
            return static_cast<Dtype>(i);
        }
    }
    return std::nullopt;
}

}  // namespace orrery
