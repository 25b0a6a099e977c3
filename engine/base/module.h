// SPDX-License-Identifier: Apache-2.0
// Parts of the program that are loaded when they are first asked for (dlopen): CUDA, MPI, SimGrid.
// The program then starts without their libraries, and is built without them.
#pragma once

#include <cstdint>

#include "engine/base/result.h"

// A function of a module that the program looks up by name.
#define ORRERY_MODULE_FUNCTION extern "C" __attribute__((visibility("default")))

namespace orrery {

// Who else sees a module's symbols: `global` is for a library that loads parts of itself, which
// look for its symbols, and prefers its own to the program's.
enum class ModuleSymbols : std::uint8_t { local, global };

class Module {
public:
    // Loads lib<name>.so, e.g. "orrery_mpi": from the program's folder, else from where the
    // system's loader looks. The error says why it can't be loaded. A module stays loaded.
    static Result<Module> open(const char* name, ModuleSymbols symbols = ModuleSymbols::local);

    // Puts the address of a function with C linkage into `to`; false if the module has none.
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
