// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_module.h"

#include "engine/base/module.h"

namespace orrery {
namespace {

Result<CudaModule> load_cuda_module() {
    const Result<Module> module = Module::open("orrery_cuda");
    if (!module) {
        return fail("",
                    "built without CUDA (" + module.error().what + ")",
                    "configure where nvcc is found, and build the target orrery_cuda");
    }
    CudaModule functions;
    if (!module->find("orrery_cuda_devices", functions.devices) ||
        !module->find("orrery_cuda_versions", functions.versions) ||
        !module->find("orrery_cuda_make_executor", functions.make_executor) ||
        !module->find("orrery_cuda_make_decode_step", functions.make_decode_step)) {
        return fail("", "liborrery_cuda.so is of another orrery", "build the target orrery_cuda");
    }
    return functions;
}

}  // namespace

const Result<CudaModule>& cuda_module() {
    static const Result<CudaModule> module = load_cuda_module();
    return module;
}

}  // namespace orrery
