// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/shared_library.h"

#include <dlfcn.h>

#include <utility>

namespace orrery {

Result<SharedLibrary> SharedLibrary::open(const std::vector<std::string>& names) {
    std::string why;
    for (const std::string& name : names) {
        if (void* const handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
            return SharedLibrary{handle};
        }
        const char* const error = dlerror();
        why += (why.empty() ? "" : "; ") + (error != nullptr ? std::string{error} : name);
    }
    return fail("", why.empty() ? "no library to load" : why);
}

SharedLibrary::SharedLibrary(SharedLibrary&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), missing_(std::move(other.missing_)) {}

SharedLibrary& SharedLibrary::operator=(SharedLibrary&& other) noexcept {
    handle_ = std::exchange(other.handle_, nullptr);
    missing_ = std::move(other.missing_);
    return *this;
}

void* SharedLibrary::address(const char* name) {
    void* const found = dlsym(handle_, name);
    if (found == nullptr) {
        missing_.emplace_back(name);
    }
    return found;
}

}  // namespace orrery
