// SPDX-License-Identifier: Apache-2.0
#include "engine/base/module.h"

#include <dlfcn.h>

#include <filesystem>
#include <string>

namespace orrery {
namespace {

// The module's own libraries come before the program's. Sanitizers refuse that: their functions
// must come first.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kGlobal = RTLD_GLOBAL;
#else
constexpr int kGlobal = RTLD_GLOBAL | RTLD_DEEPBIND;
#endif

}  // namespace

Result<Module> Module::open(const char* name, ModuleSymbols symbols) {
    namespace fs = std::filesystem;
    const std::string file = std::string{"lib"} + name + ".so";
    std::error_code ignored;
    const fs::path beside = fs::read_symlink("/proc/self/exe", ignored).parent_path() / file;
    const int flags = RTLD_NOW | (symbols == ModuleSymbols::global ? kGlobal : RTLD_LOCAL);
    void* handle = dlopen(fs::exists(beside, ignored) ? beside.c_str() : file.c_str(), flags);
    if (handle == nullptr) {
        const char* why = dlerror();
        return fail(file, why == nullptr ? "can't be loaded" : why);
    }
    return Module{handle};
}

void* Module::address(const char* function) const {
    return dlsym(handle_, function);
}

}  // namespace orrery
