// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/host_mirrors.h"

#include "runtime/cuda/cuda_result.h"

namespace orrery {
namespace {

constexpr std::int64_t kPinnedMost = std::int64_t{4} << 20;

std::int64_t bytes_of(const TensorView& view) {
    return view.size * size_bytes(view.dtype);
}

}  // namespace

Result<void> HostMirrors::allocate(Mirror& mirror) {
    const std::int64_t bytes = bytes_of(mirror.device);
    mirror.host = mirror.device;
    if (bytes > kPinnedMost) {
        mirror.pageable =
            std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes));
        mirror.host.data = mirror.pageable.get();
        return {};
    }
    auto pinned = device_.allocate_pinned(bytes);
    if (!pinned) {
        return unexpected<Error>(pinned.error());
    }
    mirror.host.data = *pinned;
    return {};
}

Result<TensorView> HostMirrors::open(TensorId tensor, std::int32_t micro_batch, HostAccess access) {
    const TensorView on_device = rank_.instance(tensor, micro_batch);
    if (on_device.empty()) {
        return TensorView{};
    }
    Mirror& mirror = mirrors_[{tensor, micro_batch}];
    if (mirror.host.empty()) {
        mirror.device = on_device;
        mirror.input = rank_.program().tensors[index(tensor)].input;
        if (Result<void> done = allocate(mirror); !done) {
            return unexpected<Error>(done.error());
        }
    }
    mirror.fresh = mirror.fresh || access == HostAccess::overwrite;
    if (!mirror.fresh) {
        const Result<void> copied =
            cuda_result(cudaMemcpy(mirror.host.data,
                                   mirror.device.data,
                                   static_cast<std::size_t>(bytes_of(mirror.device)),
                                   cudaMemcpyDeviceToHost),
                        "a copy of " + rank_.program().tensors[index(tensor)].name);
        if (!copied) {
            return unexpected<Error>(copied.error());
        }
        mirror.fresh = true;
    }
    mirror.lent = mirror.lent || access != HostAccess::read;
    return mirror.host;
}

Result<void> HostMirrors::upload(cudaStream_t stream) {
    for (auto& [key, mirror] : mirrors_) {
        if (!mirror.lent) {
            continue;
        }
        const Result<void> copied =
            cuda_result(cudaMemcpyAsync(mirror.device.data,
                                        mirror.host.data,
                                        static_cast<std::size_t>(bytes_of(mirror.device)),
                                        cudaMemcpyHostToDevice,
                                        stream),
                        "a copy to " + rank_.program().tensors[index(key.first)].name);
        if (!copied) {
            return copied;
        }
        mirror.lent = false;
    }
    return {};
}

void HostMirrors::after_run() {
    for (auto at = mirrors_.begin(); at != mirrors_.end();) {
        at->second.fresh = at->second.fresh && at->second.input;
        at = at->second.pageable != nullptr ? mirrors_.erase(at) : std::next(at);
    }
}

}  // namespace orrery
