// SPDX-License-Identifier: Apache-2.0
// Parts of the program that are loaded with dlopen at their first use: CUDA, MPI, SimGrid. The
// program builds and starts without their libraries.
#pragma once

#include <cstdint>

#include "engine/base/result.h"

// A function of a module that the program looks up by name.
#define ORRERY_MODULE_FUNCTION extern "C" __attribute__((visibility("default")))

namespace orrery {

// The visibility of a module's symbols. `global` is for a library that loads plugins: the plugins
// find its symbols, and the library prefers its own symbols to the program's.
enum class ModuleSymbols : std::uint8_t { local, global };

class Module {
public:
    // Loads lib<name>.so, for example "orrery_mpi", from the program's folder, or else by the
    // loader's search path. The error has the loader's reason. A module is never unloaded.
    static Result<Module> open(const char* name, ModuleSymbols symbols = ModuleSymbols::local);

    // Sets `to` to the address of a function with C linkage. Returns false if the module lacks it.
    template <class Function>
    bool find(const char* function, Function*& to) const {
        to = reinterpret_cast<Function*>(address(function));
        return to != nullptr;
    }

private:
    explicit Module(void* handle) : handle_(handle) {}
    void* address(const char* function) const;

    void* handle_;
};

}  // namespace orrery
